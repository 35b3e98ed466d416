"""Runs a module that ends with the process that started it, even when that one is killed hard.

`python -m local.tied MODULE ARGUMENTS`: standard input is a pipe that nobody writes to; its end is the parent's end.
Without this, an orphaned store would go on writing its state over that of the next one.
"""

import os
import runpy
import signal
import sys
import threading


def end_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin, whose lock a thread must not hold when the interpreter ends
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    module, sys.argv = sys.argv[1], sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
