from django.apps import AppConfig


class OpsconsoleConfig(AppConfig):
    name = "opsconsole"

    def ready(self) -> None:
        """Register the start-up checks."""
        from opsconsole import checks  # noqa: F401  # importing registers them
