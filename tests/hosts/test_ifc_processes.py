"""Processes that die, hang on or are left behind: none costs a result, and none stays."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hosts.ifc import channel, family, isolate
from hosts.ifc.isolate import Unfinished
from tests.hosts.host_support import Bench, bench
from tests.paths import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
PAUSE = threading.Event()


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with bench(tmp_path_factory.mktemp("processes")) as made:
        yield made


def parents() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(entry.name)] = (int(fields[1]), fields[0])
    return found


def descendants(ancestor: int) -> set[int]:
    everyone = parents()
    found: set[int] = set()
    level = {ancestor}
    while level:
        level = {pid for pid, (parent, _) in everyone.items() if parent in level} - found
        found |= level
    return found


def gone(pid: int) -> bool:
    """Whether a process has ended, or ends now; waits for it as long as the test may run."""
    while pid in parents() and parents()[pid][1] != "Z":
        PAUSE.wait(0.01)
    return True


def when_written(path: Path, act) -> threading.Thread:
    """Act on the numbers that a script writes to a file, as soon as it has."""

    def wait() -> None:
        while not path.exists() or not path.read_text().endswith("\n"):
            PAUSE.wait(0.01)
        act(*[int(number) for number in path.read_text().split()])

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


TELL = "import os\nopen({0!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}\\n')\n"
RENAME = "import time\nmodel.by_type('IfcDoor')[0].Name = str(time.time_ns())\n"


def test_a_worker_that_is_killed_in_mid_script_takes_its_runner_along_and_is_replaced(host, tmp_path):
    before = host.fingerprint()
    numbers: list[int] = []

    def kill(worker: int, runner: int) -> None:
        numbers.extend((worker, runner))
        os.kill(worker, signal.SIGKILL)

    thread = when_written(tmp_path / "pids", kill)
    result = host.run("commit", f"{RENAME}print('so far')\n{TELL.format(str(tmp_path / 'pids'))}while True: pass")
    thread.join()

    assert (result["outcome"], result["stdout"]) == ("crashed", "so far\n")
    assert all(gone(pid) for pid in numbers)
    assert host.fingerprint() == before


def test_a_worker_that_was_killed_while_idle_costs_no_command(host):
    worker = int(host.read("import os; print(os.getppid())"))
    os.kill(worker, signal.SIGKILL)
    assert gone(worker)

    assert host.run("commit", RENAME)["outcome"] == "committed"
    assert int(host.read("import os; print(os.getppid())")) != worker


def test_a_script_that_kills_the_worker_loses_only_itself(host):
    result = host.run("commit", f"{RENAME}import os, signal; os.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass")

    assert result["outcome"] == "crashed"
    assert host.run("commit", RENAME)["outcome"] == "committed"


STARTS = {
    "a child": "import subprocess; p = subprocess.Popen(['sleep', '1000']); print(p.pid)",
    "a daemon": "import subprocess\n"
    "print(subprocess.run(['setsid', '-f', 'sh', '-c', 'echo $$; exec sleep 1000 >&-'], stdout=-1, text=True).stdout)",
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("ending", ["", "\nraise SystemExit"], ids=["committed", "failed"])
def test_what_a_script_starts_ends_with_it(host, start, ending):
    result = host.run("commit", f"{RENAME}{STARTS[start]}{ending}")

    assert result["outcome"] == ("failed" if ending else "committed"), result
    assert gone(int(result["stdout"]))


def test_a_script_that_forks_itself_is_answered_once(host):
    result = host.run("commit", f"import os\nchild = os.fork()\nif child: os.waitpid(child, 0)\n{RENAME}")

    assert result["outcome"] == "committed"
    assert host.fingerprint() == (result["document"]["version"],) * 2


def test_no_process_and_no_zombie_is_left(tmp_path):
    before = descendants(os.getpid())
    with bench(tmp_path) as host:
        for script in (RENAME, RENAME, "1 / 0", "import os; os._exit(1)"):
            host.run("commit", script)
        host.run("commit", "while True: pass", limits={"seconds": 0.2, "output_chars": 10})
        assert len(descendants(os.getpid()) - before) == 1

    assert descendants(os.getpid()) == before


def test_the_worker_ends_when_its_supervisor_goes(tmp_path):
    host = Bench(tmp_path)
    worker = int(host.read("import os; print(os.getppid())"))

    host.host._line.close()

    assert gone(worker)
    host.host.close()


def test_the_supervisor_never_loads_the_library_of_the_model():
    code = "import sys, hosts.ifc.__main__; sys.exit(bool({'ifcopenshell', 'numpy'} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_worker_has_one_thread_since_it_forks(host):
    assert host.read("import os; print(len(os.listdir('/proc/self/task')))") == "1\n"


def test_a_lock_is_held_until_the_last_of_a_family_has_ended(tmp_path):
    lock = family.hold_lock(tmp_path, 0.0)
    ours, theirs = channel.pair()
    child = os.fork()
    if child == 0:
        ours.close()
        theirs.has_message(60)
        os._exit(0)
    os.close(lock)
    theirs.close()

    with pytest.raises(family.Busy):
        family.hold_lock(tmp_path, 0.0)
    ours.close()
    os.waitpid(child, 0)
    os.close(family.hold_lock(tmp_path, 0.0))


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal SIGKILL"),
        (lambda: os._exit(3), "exit code 3"),
        (lambda: PAUSE.wait(60), "longer than 0.2 seconds"),
        (lambda: "text", "TypeError"),
    ],
)
def test_side_work_that_fails_says_how(work, why):
    with pytest.raises(Unfinished, match=why):
        isolate.in_fork(work, 0.2 if "longer" in why else 20.0)


def test_side_work_returns_its_bytes_and_nothing_else():
    kept = []

    assert isolate.in_fork(lambda: kept.append(1) or b"x" * 3_000_000, 20.0) == b"x" * 3_000_000
    assert kept == []


def test_a_message_is_never_written_into_a_file_that_took_the_channels_number(tmp_path):
    ours, _theirs = channel.pair()
    with open(tmp_path / "innocent", "wb") as innocent:
        os.dup2(innocent.fileno(), ours.connection.fileno())

        with pytest.raises(channel.ChannelLost, match="was closed"):
            ours.send({"kind": "result"})
    ours.close()

    assert (tmp_path / "innocent").read_bytes() == b""
