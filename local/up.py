"""`python -m local.up --help`: everything on one machine; the command line's `drafthand up` runs the same.

Only the way in: Ctrl+C while the rest is imported ends quietly, for nothing has been started yet.
"""

import os
import signal

STOPPED = 130


def main() -> None:
    signal.signal(signal.SIGINT, lambda *_: os._exit(STOPPED))
    from local import machine

    machine.main(STOPPED)


if __name__ == "__main__":
    main()
