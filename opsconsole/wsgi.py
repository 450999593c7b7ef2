"""The web server's entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsconsole.settings")

application = get_wsgi_application()

from opsconsole.checks import refuse_unsafe  # noqa: E402  # needs the settings that the line above has loaded

refuse_unsafe()
