#!/usr/bin/env python
"""Django's command line."""

import os
import sys


def main() -> None:
    """Run the command named on the command line with this project's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsconsole.settings")
    if sys.argv[1:2] == ["quickstart"]:
        # It starts the processes that need real settings; it needs none itself.
        os.environ.setdefault("OPSCONSOLE_MODE", "demo")

    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
