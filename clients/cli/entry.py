"""Only the way in: Ctrl+C while the command line is imported ends quietly, for nothing has been done yet."""

import os
import signal

INTERRUPTED = 130


def main() -> None:
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from clients.cli.main import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    app()
