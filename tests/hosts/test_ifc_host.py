"""The host as a program, against a server over real HTTP: what a user starts, stops and loses power under."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.host_support import TOKEN, FakeCloud, building_text, command, fake_cloud, sha256
from tests.paths import ROOT

SOON_S = 60.0  # far beyond what any of this takes; only a fault waits so long
COUNT = "open({0!r}, 'a').write('ran\\n')\n"
RENAME = "model.by_type('IfcDoor')[0].Name = 'new'\n"


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with fake_cloud() as made:
        yield made


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "model.ifc"
    path.write_text(building_text(), encoding="ascii")
    return path


@pytest.fixture
def times(tmp_path) -> Path:
    return tmp_path / "times"


def arguments(path: Path, url: str) -> dict:
    line = [sys.executable, "-m", "hosts.ifc", str(path), "--url", url, "--journal", str(path.parent / "journal")]
    return {"args": line, "cwd": ROOT, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


@contextlib.contextmanager
def started(path: Path, cloud: FakeCloud) -> Iterator[subprocess.Popen]:
    """The host, connected; ended by force when the test leaves it running."""
    process = subprocess.Popen(**arguments(path, cloud.url), env=os.environ | {"DRAFTHAND_HOST_TOKEN": TOKEN})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def run_once(path: Path, url: str, token: str = TOKEN) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name != "DRAFTHAND_HOST_TOKEN"}
    given = {"DRAFTHAND_HOST_TOKEN": token} if token else {}
    return subprocess.run(**arguments(path, url), env=environment | given, timeout=SOON_S, check=False)


def test_it_connects_says_so_works_and_stops_cleanly(path, cloud):
    cloud.commands.put(command("a1", "commit", RENAME))

    with started(path, cloud) as process:
        result = cloud.results.get(timeout=SOON_S)
        process.terminate()
        output, errors = process.communicate(timeout=SOON_S)

    poll = cloud.polls.get()
    assert result["outcome"] == "committed"
    assert output == f"Connected: model.ifc at {cloud.url}\n"
    assert process.returncode == 0, errors
    assert poll["application"]["name"] == "ifc"
    assert poll["document"]["version"] == sha256(building_text())
    assert result["document"] == poll["document"] | {"version": sha256(path.read_bytes())}


def test_killed_after_the_commit_and_before_the_answer_it_answers_after_its_restart(path, cloud, times):
    posted = threading.Event()

    def hold(_: dict) -> int:
        posted.set()
        cloud.closing.wait(SOON_S)
        return 500

    cloud.on_result = hold
    order = command("a1", "commit", COUNT.format(str(times)) + RENAME)
    cloud.commands.put(order)
    with started(path, cloud) as process:
        assert posted.wait(SOON_S)
        kill(process)
    committed = path.read_bytes()
    lost = cloud.results.get()

    cloud.on_result = lambda _: 202
    cloud.commands.put(order)
    with started(path, cloud):
        first, again = (cloud.results.get(timeout=SOON_S) for _ in range(2))

    assert first == again == lost
    assert (first["outcome"], first["document"]["version"]) == ("committed", sha256(committed))
    assert times.read_text() == "ran\n"
    assert path.read_bytes() == committed
    assert b"'new'" in committed


def test_killed_in_mid_script_it_tells_so_after_its_restart_and_nothing_was_changed(path, cloud, times):
    order = command("a1", "commit", f"{RENAME}print('so far')\n{COUNT.format(str(times))}while True: pass")
    cloud.commands.put(order)
    with started(path, cloud) as process:
        while not times.exists():
            threading.Event().wait(0.01)
        kill(process)

    cloud.commands.put(order)
    with started(path, cloud):
        first, again = (cloud.results.get(timeout=SOON_S) for _ in range(2))

    assert first == again
    assert (first["outcome"], first["stdout"]) == ("crashed", "so far\n")
    assert times.read_text() == "ran\n"
    assert path.read_text() == building_text()


def test_stopped_in_mid_script_it_tells_so_at_once(path, cloud, times):
    cloud.commands.put(command("a1", "commit", f"{RENAME}{COUNT.format(str(times))}while True: pass"))

    with started(path, cloud) as process:
        while not times.exists():
            threading.Event().wait(0.01)
        process.terminate()
        result = cloud.results.get(timeout=SOON_S)
        process.communicate(timeout=SOON_S)

    assert (result["outcome"], process.returncode) == ("crashed", 0)
    assert path.read_text() == building_text()


def test_a_cancel_from_the_server_stops_the_script(path, cloud, times):
    cloud.commands.put(command("a1", "commit", f"{RENAME}{COUNT.format(str(times))}while True: pass"))
    cloud.cancelled.add("a1")

    with started(path, cloud):
        result = cloud.results.get(timeout=SOON_S)

    assert (result["outcome"], result["error"]["type"]) == ("rolled_back", "Cancelled")
    assert path.read_text() == building_text()


def test_a_refused_token_ends_it_with_1(path, cloud):
    done = run_once(path, cloud.url, token="wrong")

    assert done.returncode == 1
    assert "refused this host's token (401)" in done.stderr


@pytest.mark.parametrize(
    ("content", "url", "token", "why"),
    [
        ("hello", "http://127.0.0.1:9", TOKEN, "isn't an IFC file. Export it again"),
        (building_text(), "http://127.0.0.1:9", "", "Set DRAFTHAND_HOST_TOKEN"),
        (building_text(), "http://example.com", TOKEN, "must begin with https://"),
    ],
)
def test_what_can_not_work_ends_it_with_2_and_what_to_do(path, content, url, token, why):
    path.write_text(content)

    done = run_once(path, url, token)

    assert done.returncode == 2
    assert why in done.stderr
    assert done.stdout == ""


def test_a_real_house_is_renumbered_as_a_person_would_check_it(tmp_path, cloud):
    from tests.paths import shared

    path = tmp_path / "house.ifc"
    shutil.copy(shared("ifc", "Duplex_A_20110907.ifc"), path)
    script = """
import ifcopenshell.util.element as element
doors = [d for d in model.by_type("IfcDoor") if element.get_container(d).Name == "Level 2"]
for number, door in enumerate(doors, 1): door.Tag = f"2.{number:02}"
print(len(doors))
"""
    cloud.commands.put(command("a1", "commit", script))

    with started(path, cloud):
        result = cloud.results.get(timeout=SOON_S)

    assert (result["outcome"], result["stdout"]) == ("committed", "8\n")
    assert [len(result["changed"][kind]) for kind in ("added", "modified", "deleted")] == [0, 8, 0]
