"""Starting: what can't be started says so in one line and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.flow.served import Served, serve
from tests.flow.test_kills import processes
from tests.paths import ROOT


def up(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local.up", "--folder", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_a_port_that_is_taken_is_told_and_nothing_is_announced(tmp_path: Path, sample: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])

        done = up(tmp_path, "--port", port, "--model", str(sample))

    assert done.returncode == 1
    assert f"Port {port} can't be used" in done.stderr
    assert "is up" not in done.stdout
    assert not (tmp_path / "local.json").exists()


def test_a_second_server_on_one_folder_is_refused(served: Served) -> None:
    done = up(served.folder, "--port", "0", "--model", str(served.model))

    assert done.returncode == 1
    assert "Another server runs from" in done.stderr
    assert served.api.get("/models")["models"]


def test_a_server_that_loses_its_store_says_so_and_ends_with_all_its_parts(model: Path, tmp_path: Path) -> None:
    with serve(tmp_path / "state", model) as served:
        parts = [pid for name in ("hosts.ifc", "local.rehearsal") for pid in processes(served, name)]

        os.kill(processes(served, "local.store_server")[0], signal.SIGKILL)

        assert served.process.wait(timeout=60) == 1
        assert [pid for pid in parts if Path(f"/proc/{pid}").exists()] == []


def test_a_demo_of_a_file_that_is_not_there_touches_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clients.cli.main", "demo", "--folder", str(tmp_path), "--model", "/none.ifc"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert (done.returncode, "There is no file /none.ifc" in done.stderr) == (2, True)
