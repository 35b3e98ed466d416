"""The IFC host: `python -m hosts.ifc MODEL.ifc --url http://127.0.0.1:8787`, with DRAFTHAND_HOST_TOKEN set.

Exit codes: 0 stopped, 1 the server refused the token, 2 wrong usage or a file that can't be opened.
"""

import argparse
import hashlib
import os
import signal
import sys
from pathlib import Path

from hosts.ifc import family
from hosts.ifc.supervisor import IfcHost, Unusable, default_strategy
from hosts.runtime.journal import Journal
from hosts.runtime.link import Link
from hosts.runtime.outbox import Unauthorized
from hosts.runtime.transport import Transport

TOKEN = "DRAFTHAND_HOST_TOKEN"


class Stop(BaseException):
    """SIGTERM or Ctrl-C. No Exception: nothing on the way may take it for a fault."""


def main(arguments: list[str]) -> int:
    """Serve one file until stopped; returns the exit code."""
    options = _options(arguments)
    token = os.environ.pop(TOKEN, None)
    if not token:
        return _fail(f"Set {TOKEN} to the token that the server gave this host.")
    family.hide_from_children()
    try:
        transport = Transport(options.url, token)
        journal = Journal(options.journal or _journal_folder(options.model))
    except (ValueError, OSError) as error:
        return _fail(str(error))
    host = IfcHost(options.model, journal, default_strategy())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    try:
        host.start()
    except Unusable as error:
        return _fail(str(error))
    except Stop:
        host.close()
        return 0
    return _serve(host, journal, transport)


def _serve(host: IfcHost, journal: Journal, transport: Transport) -> int:
    connected = f"Connected: {host.document()['title']} at {transport.base_url}"
    link = Link(host, journal, transport, _log, on_connected=lambda: print(connected, flush=True))
    try:
        link.run()
    except Unauthorized as error:
        _log(str(error))
        return 1
    except Stop:
        _ignore_signals()
        host.close()
        _flush(link)
    finally:
        _ignore_signals()
        host.close()
    return 0


def _ignore_signals() -> None:
    """A second Ctrl-C must not cut short the account of what the first one ended."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _flush(link: Link) -> None:
    """Bring the server what just ended, if it will have it now; the journal keeps the rest."""
    try:
        link.flush()
    except Unauthorized as error:
        _log(str(error))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hosts.ifc", description="Connect an IFC file to Drafthand.")
    parser.add_argument("model", type=Path, metavar="MODEL.ifc")
    parser.add_argument("--url", required=True, help="the server, e.g. http://127.0.0.1:8787")
    parser.add_argument("--journal", type=Path, metavar="DIR", help="where this host keeps what it was told to do")
    return parser.parse_args(arguments)


def _journal_folder(model: Path) -> Path:
    """One folder per file, with the user's other application state."""
    home = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".local" / "state"
    name = hashlib.sha256(str(model.resolve()).encode()).hexdigest()[:16]
    return Path(home) / "drafthand" / "hosts" / name


def _stop(*_: object) -> None:
    raise Stop


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fail(message: str) -> int:
    _log(message)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
