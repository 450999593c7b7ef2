"""Settings from the environment. What is unsafe in production is refused by `opsconsole/checks.py`."""

from pathlib import Path
from typing import Any

import environ
from django.utils.csp import CSP

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

MODE = env.str("OPSCONSOLE_MODE", default="production")  # production, demo (quickstart) or test
HOME = Path(env.str("OPSCONSOLE_HOME", default=str(BASE_DIR / ".opsconsole")))
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="unset-and-refused-outside-of-checks")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[])
PUBLIC_URL = env.str("PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL.startswith("https://") else []

INSTALLED_APPS = [
    "opsconsole.apps.OpsconsoleConfig",
    "reconciliation.apps.ReconciliationConfig",
    "approvals.apps.ApprovalsConfig",
    "operations.apps.OperationsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "allauth",
    "allauth.account",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "opsconsole.middleware.console",
]

ROOT_URLCONF = "opsconsole.urls"
WSGI_APPLICATION = "opsconsole.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "opsconsole.console.console_context",
            ],
        },
    }
]

DATABASES = {
    "default": {
        **env.db("DATABASE_URL", default="postgres://opsconsole@127.0.0.1:5432/opsconsole"),
        "CONN_MAX_AGE": env.int("CONN_MAX_AGE", default=600),
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,  # each service says where its transaction begins and ends
    }
}
DATABASES["default"].setdefault("OPTIONS", {})
DATABASES["default"]["OPTIONS"].setdefault("connect_timeout", 5)
# The statements of the hot path are few, prepared and always answered by an index: plan each of them once.
DATABASES["default"]["OPTIONS"].setdefault("options", "-c plan_cache_mode=force_generic_plan -c jit=off")
DATABASES["default"]["OPTIONS"].setdefault("prepare_threshold", 5)

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "operations.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

ACCOUNT_ADAPTER = "opsconsole.accounts.ClosedAccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = False
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"

CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "opsconsole_cache"}}

SESSION_COOKIE_AGE = 8 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE
CSRF_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 31_536_000 if SESSION_COOKIE_SECURE else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(HOME / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if MODE == "test"
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = MODE == "test"

# The doorbell. Ids in, results ignored, no ETA, no retries: the truth and the claim are in PostgreSQL.
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="redis://127.0.0.1:6379/0")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Ringing at a dead broker gives up at once, and at a silent one after two seconds: somebody waits for the page.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_timeout": 2,
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_DB_REUSE_MAX = 10_000  # without it every task would open a new PostgreSQL connection
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# Where each connection's provider is. Never from an intent, a form or an answer.
PROVIDER_TARGETS: dict[str, str] = env.dict("PROVIDER_TARGETS", default={})
PROVIDER_CONTRACT_DIRS = [Path(item) for item in env.list("PROVIDER_CONTRACT_DIRS", default=[])]
PROVIDER_CONNECT_SECONDS = env.float("PROVIDER_CONNECT_SECONDS", default=3.0)
PROVIDER_READ_SECONDS = env.float("PROVIDER_READ_SECONDS", default=20.0)
PROVIDER_TOTAL_SECONDS = env.float("PROVIDER_TOTAL_SECONDS", default=30.0)

# A claim holds so long by the database clock. Sending may begin only while a whole call still fits in.
LEASE_SECONDS = env.float("LEASE_SECONDS", default=90.0)
LEASE_MARGIN_SECONDS = env.float("LEASE_MARGIN_SECONDS", default=15.0)
SWEEP_SECONDS = env.float("SWEEP_SECONDS", default=5.0)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {"httpx": {"level": "WARNING"}, "httpcore": {"level": "WARNING"}},
}
