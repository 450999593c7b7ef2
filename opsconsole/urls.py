"""Every address of this site. Each floor brings its own list."""

from allauth.account import views as account
from django.urls import include, path

from opsconsole import api, views
from opsconsole.look_up_views import look_up

accounts = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
    # Names the sign-in library looks up; the pages do not exist here.
    path("signup/", views.not_here, name="account_signup"),
    path("email/", views.not_here, name="account_email"),
    path("password/set/", views.not_here, name="account_set_password"),
]

urlpatterns = [
    path("", views.home, name="home"),
    path("tenant/", views.choose_tenant, name="tenant"),
    path("accounts/", include(accounts)),
    path("api/v1/", api.urls),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("decisions/", include("approvals.urls")),
    path("operations/", include("operations.urls")),
    path("stops/", include("operations.stop_urls")),
    path("investigations/<str:operation_id>/look-up", look_up, name="look_up_now"),
    path("investigations/", include("reconciliation.urls")),
]
