"""`manage.py simulator`: the simulated provider as a process of its own."""

import argparse
import runpy
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

MODULE = "operations.providers.simulated"


class Command(BaseCommand):
    """Runs the simulated provider until it is stopped; the same as `python -m operations.providers.simulated`."""

    help = "Run the simulated provider: its own ledger, its own log of requests, faults on demand."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the provider's own options as they are."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", default="8090", help="port to listen on")
        parser.add_argument("--data", required=True, help="folder for the ledger and the request log")
        parser.add_argument("--worker-pid-file", help="file with the process id that the kill_caller fault kills")
        parser.add_argument("more", nargs=argparse.REMAINDER, help="further options for the provider")

    def handle(self, *args: Any, **options: Any) -> None:
        """Hand over to the provider; it ends by a signal."""
        command = ["--host", options["host"], "--port", options["port"], "--data", options["data"]]
        if options["worker_pid_file"]:
            command += ["--worker-pid-file", options["worker_pid_file"]]
        sys.argv = [MODULE, *command, *options["more"]]
        runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
