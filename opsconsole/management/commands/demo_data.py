"""`manage.py demo_data`: the demo tenant, for quickstart."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from opsconsole.demo import NotADemo, ensure_demo


class Command(BaseCommand):
    help = "Create the demo tenant, its people and its agent key, as far as they are missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            demo = ensure_demo()
        except NotADemo as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(asdict(demo)))
            return
        for login in demo.logins:
            self.stdout.write(f"{login.role}: {login.email} / {login.password}")
        self.stdout.write(f"agent key: {demo.agent_key}")
