from django.apps import AppConfig


class OpsconsoleConfig(AppConfig):
    name = "opsconsole"
