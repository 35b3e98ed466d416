"""`python -m local.rehearsal --port 8790 --tokens-per-second 40`: the rehearsal model server on localhost."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn

from local.rehearsal.script import BUNDLED, ScriptError, load
from local.rehearsal.server import create_app
from local.rehearsal.wire import WINDOW


def main() -> None:
    """Serve until stopped. Exit code 2 for wrong arguments or a wrong script."""
    parser = argparse.ArgumentParser(prog="python -m local.rehearsal", description="A model server that plays scripts.")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--tokens-per-second", type=float, default=0.0, help="pace of the stream; 0: no pause")
    parser.add_argument("--scripts", type=Path, default=BUNDLED, help="folder of scripts instead of the bundled ones")
    parser.add_argument("--window", type=int, default=WINDOW, help="context window in tokens")
    arguments = parser.parse_args()
    try:
        scripts = load(arguments.scripts)
    except ScriptError as error:
        parser.error(str(error))
    print(f"Rehearsal, no language model: http://127.0.0.1:{arguments.port}", flush=True)
    app = create_app(scripts, arguments.tokens_per_second, window=arguments.window)
    uvicorn.run(app, host="127.0.0.1", port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
