"""Start one of the host's own modules as a process that holds one end of a channel."""

import os
import subprocess
import sys
from pathlib import Path

from hosts.ifc.channel import Channel

ROOT = Path(__file__).resolve().parents[2]
STDERR = 2  # what C libraries print to their standard output must not mix with ours


def start(module: str, end: Channel, keep: list[int], arguments: list[str], environment: dict) -> subprocess.Popen:
    """Run `python -m module HANDLE ARGUMENTS...`; `keep` are descriptors that it inherits besides the channel.

    The process has a session of its own: Ctrl-C in the terminal reaches the supervisor only.
    """
    handle = end.connection.fileno()
    path = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    options: dict = {"stdin": subprocess.DEVNULL, "stdout": STDERR, "env": {**environment, "PYTHONPATH": path}}
    if os.name == "nt":
        os.set_handle_inheritable(handle, True)
        options |= {"close_fds": False, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    else:
        options |= {"pass_fds": [handle, *keep], "start_new_session": True}
    # -P: a json.py in the folder the host was started from must not be taken for the library's.
    return subprocess.Popen([sys.executable, "-P", "-m", module, str(handle), *arguments], **options)
