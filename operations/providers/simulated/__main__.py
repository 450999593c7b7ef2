"""``python -m operations.providers.simulated``: serve until told to stop."""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from operations.providers.simulated.checks import LOOPBACK
from operations.providers.simulated.engine import Provider
from operations.providers.simulated.server import SimulatedServer


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m operations.providers.simulated", description=__doc__)
    parser.add_argument("--host", choices=LOOPBACK, default="127.0.0.1", help="this machine only")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--data", type=Path, required=True, help="directory of the log and the ledger")
    parser.add_argument("--keys", choices=("honour", "ignore"), help="what an idempotency key is worth")
    parser.add_argument("--worker-pid-file", type=Path, help="whom kill_caller kills")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input closes")
    return parser.parse_args(arguments)


def stop_with_parent(stop: threading.Event) -> None:
    """Stop when the other end of standard input is gone, as it is when the parent was killed."""
    # Below Python's buffer: a thread that waits inside it would hold its lock while the interpreter ends.
    while os.read(0, 4096):
        pass
    stop.set()


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready. 0 after a clean stop, 2 when the data are taken."""
    options = parsed(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        provider = Provider(options.data, keys=options.keys, worker_pid_file=options.worker_pid_file)
    except BlockingIOError:
        print(f"another simulated provider is using {options.data}", file=sys.stderr)
        return 2
    server = SimulatedServer((options.host, options.port), provider)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    if options.with_parent:
        threading.Thread(target=stop_with_parent, args=[stop], daemon=True).start()
    print(f"simulated provider listening on http://{options.host}:{server.server_address[1]}", flush=True)
    stop.wait()
    provider.gates.stop()
    server.shutdown()
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
