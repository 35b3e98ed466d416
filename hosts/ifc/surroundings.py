"""What a script can change around itself without touching the model, and how to put it back after a commit."""

import os
import signal
import sys


class Surroundings:
    """Folder, environment, import path and signal handlers as they are now."""

    def __init__(self):
        self._folder = os.getcwd()
        self._environment = dict(os.environ)
        self._path = list(sys.path)
        self._handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}

    def restore(self) -> None:
        """Bring them back. Timers are stopped, since what they would call is the script's."""
        os.chdir(self._folder)
        os.environ.clear()
        os.environ.update(self._environment)
        sys.path[:] = self._path
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
