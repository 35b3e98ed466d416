"""Starting: what can't be started says so in one line and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flow.served import Served, serve
from tests.flow.test_kills import processes
from tests.paths import ROOT


def up(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local.up", "--folder", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def begun(folder: Path) -> list[str]:
    """The arguments of every process that works in this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has just ended
            continue
    return [line for line in found if str(folder) in line]


MOMENTS: dict[str, Callable[[Path, str], bool]] = {
    "the first imports": lambda folder, imported: "argparse" in imported,
    "the lock": lambda folder, imported: (folder / "lock").exists(),
    "the first part's start": lambda folder, imported: (folder / "logs" / "store.log").exists(),
    "the second part's start": lambda folder, imported: (folder / "logs" / "rehearsal.log").exists(),
    "the middle of the imports": lambda folder, imported: "botocore" in imported,
    "the last imports": lambda folder, imported: "local.front" in imported,
    "the host's start": lambda folder, imported: (folder / "logs" / "host.log").exists(),
    "being up": lambda folder, imported: (folder / "local.json").exists(),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_at_any_moment_ends_all_parts_quietly(tmp_path: Path, sample: Path, moment: str) -> None:
    folder, log = tmp_path / "state", tmp_path / "stderr"
    command = [sys.executable, "-X", "importtime", "-m", "local.up", "--port", "0", "--folder", str(folder)]
    with log.open("wb") as stderr:
        process = subprocess.Popen([*command, "--model", str(sample)], cwd=ROOT, stderr=stderr, start_new_session=True)
    until = time.monotonic() + 60
    while not MOMENTS[moment](folder, log.read_text()):
        assert time.monotonic() < until, f"it never came to {moment}"
        time.sleep(0.002)

    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(timeout=30) == 130
    said = [line for line in log.read_text().splitlines() if not line.startswith("import time:")]
    assert said == []
    assert begun(folder) == []
    assert not (folder / "local.json").exists()


def test_a_models_file_that_can_not_be_used_is_told_in_one_line(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[mine]\nlabel = "Mine"\nvendor = "ours"\ndialect = "chat_completions"\ncontxt = 1\n')
    monkeypatch.setenv("DRAFTHAND_MODELS", str(own))

    done = up(tmp_path / "state", "--port", "0", "--model", str(sample))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{own}: [mine]: contxt: there is no such field; write context.\n"
    assert begun(tmp_path / "state") == []


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
