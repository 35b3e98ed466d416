"""How much a server carries: `make bench`.

1. 1,000 suspended waits in one process: calls that hosts have claimed and don't answer.
2. 200 runs at once on the local stack, three tool calls each, on 50 hosts: none fails, none gets another's output.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
from drafthand import rendezvous
from drafthand.auth import LOCAL_OWNER
from drafthand.ids import now
from drafthand.store import Store, open_store
from drafthand.store.table import Put

from clients.cli.api import Api
from hosts.runtime import results
from hosts.runtime.journal import Journal
from hosts.runtime.link import Link
from hosts.runtime.transport import Transport
from local import stack
from tests import stores
from tests.flow.served import Served, kinds, serve

TICKS = os.sysconf("SC_CLK_TCK")
JOB = r"""
name: count
title: Count marker-0
match: count (?P<marker>marker-\d+)
turns:
  - {name: one, say: One., call: {tool: execute_data_collection, input: {code: 'print("{marker} one")', purpose: One.}}}
  - {name: two, say: Two., call: {tool: execute_data_collection, input: {code: 'print("{marker} two")', purpose: Two.}}}
  - {name: three, say: D., call: {tool: execute_task_automation, input: {code: 'print("{marker} three")', summary: D.}}}
  - {name: end, say: 'That was {marker}.'}
"""
FALLBACK = "{name: fallback, title: Nothing else, turns: [{name: only, say: 'I only count.'}]}"


def cpu_s(pid: int) -> float:
    """Seconds of a core that a process has used, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int, what: str) -> float:
    """`what` is VmRSS for now, VmHWM for the most so far."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


# -- 1. suspended waits -----------------------------------------------------------------------------------------------


def suspended(number: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder, stores.ministack(Path(folder)) as url:
        store = stores.fresh_store(url)
        host_id, _ = store.hosts.create("ann")
        calls = [_claimed(store, host_id, f"call_{each}") for each in range(number)]
        each_ms, share, looks = asyncio.run(_waits(store, calls, seconds))
    print(f"{number:,} suspended waits in one process, {seconds:.0f} s long:")
    print(f"  CPU     {share:.1%} of a core")
    print(f"  memory  {memory_mb(os.getpid(), 'VmRSS'):.0f} MB")
    print(f"  looks   {each_ms:.2f} ms of CPU each; {looks:,.0f} looks a second where {number:,} were due")


def _claimed(store: Store, host_id: str, call_id: str) -> rendezvous.Call:
    """A call in the hands of a host that is at work."""
    at = now()
    call = rendezvous.Call(call_id, "ses_1", "run_1", "ann", host_id, "claimed", at, claimed_at=at)
    store.table.write(Put({"pk": call.pk, "sk": f"CALL#{call_id}"} | call.__dict__))
    return call


async def _waits(store: Store, calls: list[rendezvous.Call], seconds: float) -> tuple[float, float, float]:
    """Milliseconds of CPU a look, the share of a core, and looks a second, once all wait with their longest pause."""
    looks: list[int] = []
    get = store.table.get

    def counted(*arguments: Any, **options: Any) -> Any:
        looks.append(1)
        return get(*arguments, **options)

    store.table.get = counted  # type: ignore[method-assign]
    host = store.hosts.get("ann", calls[0].host_id)

    async def wait(call: rendezvous.Call) -> None:
        async for _ in rendezvous.watch(store, call):
            pass

    waiting = [asyncio.create_task(wait(call)) for call in calls]
    await asyncio.sleep(10)  # until the pauses have grown
    store.hosts.seen(host)
    began, cpu, before = time.monotonic(), time.process_time(), len(looks)
    await asyncio.sleep(seconds)
    passed, used, looked = time.monotonic() - began, time.process_time() - cpu, len(looks) - before
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    return used / max(1, looked) * 1000, used / passed, looked / passed


# -- 2. runs at once --------------------------------------------------------------------------------------------------


class Echo:
    """A host that prints what a script prints, with its own id: `ran` are the commands it got."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()

    def document(self) -> dict[str, Any]:
        return {"id": "d", "title": "house", "version": "1"}

    def application(self) -> dict[str, Any]:
        return {"name": "ifc", "version": "0"}

    def run(self, command: dict[str, Any]) -> dict[str, Any]:
        self.ran[command["id"]] += 1
        result = results.new(command, self.document())
        result["stdout"] = f"{command['script']} {command['id']}"
        return results.end(result, "committed" if command["mode"] == "commit" else "rolled_back")

    def cancel(self, command_id: str) -> None:
        pass


def at_once(number: int, hosts: int) -> list[str]:
    """What went wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notes.ifc").write_text("no host is wanted here\n")
        (folder / "scripts").mkdir()
        (folder / "scripts" / "count.yaml").write_text(JOB)
        (folder / "scripts" / "fallback.yaml").write_text(FALLBACK)
        with serve(folder / "state", folder / "notes.ifc", host=False, rehearsals=folder / "scripts") as served:
            port = _store_port(served)
            echoes, links, ids = _hosts(served, folder, f"http://127.0.0.1:{port}", hosts)
            began, pid = time.monotonic(), served.process.pid
            cpu, own = cpu_s(pid), time.process_time()
            with ThreadPoolExecutor(number) as readers:
                runs = list(readers.map(lambda each: _run(served, each, ids[each % hosts]), range(number)))
            passed = time.monotonic() - began
            print(f"{number} runs at once on {hosts} hosts, three calls each: {passed:.1f} s")
            print(f"  server  {cpu_s(pid) - cpu:.1f} s of CPU, {memory_mb(pid, 'VmHWM'):.0f} MB at most")
            print(f"  clients and hosts of this bench  {time.process_time() - own:.1f} s of CPU")
            for link in links:
                link.stop()
    again = [call for echo in echoes for call, times in echo.ran.items() if times > 1]
    return [*(problem for run in runs for problem in run), *(f"{call} ran again" for call in again)]


def _store_port(served: Served) -> int:
    """Of the embedded store: its process is told it as its first argument."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile
            if b"local.store_server" in arguments and str(served.folder / "store").encode() in arguments:
                return int(arguments[arguments.index(b"local.store_server") + 1])
    raise LookupError("the store's process was not found")


def _hosts(served: Served, folder: Path, store_url: str, number: int) -> tuple[list[Echo], list[Link], list[str]]:
    os.environ.update(stores.CREDENTIALS)
    store = open_store(stack.TABLE, stack.BUCKET, store_url)
    echoes, links, ids = [Echo() for _ in range(number)], [], []
    connected = threading.Semaphore(0)
    for place, echo in enumerate(echoes):
        host_id, token = store.hosts.create(LOCAL_OWNER)
        journal = Journal(str(folder / f"journal{place}"))
        link = Link(echo, journal, Transport(served.address.url, token), lambda line: None, connected.release)
        threading.Thread(target=link.run, daemon=True).start()
        links.append(link)
        ids.append(host_id)
    for _ in links:
        assert connected.acquire(timeout=60), "a host did not come online"
    return echoes, links, ids


def _run(served: Served, number: int, host_id: str) -> list[str]:
    """One run of one client; what is wrong with it."""
    marker = f"marker-{number}"
    try:
        chunks = list(Api(served.address).run(f"Count {marker}", model="rehearsal", host_id=host_id))
    except (httpx2.HTTPError, RuntimeError) as error:
        return [f"{marker}: {error!r}"]
    problems = []
    if chunks[-1]["type"] != "Complete" or not chunks[-1]["content"].endswith(f"That was {marker}."):
        problems.append(f"{marker} ended with {chunks[-1]['type']}: {chunks[-1]['content'][:200]}")
    told = kinds(chunks, "tool_result")
    expected = [
        f'print("{marker} {each}") {result["call_id"]}'
        for each, result in zip(("one", "two", "three"), told, strict=False)
    ]
    if len(told) != 3 or [result["output_head"] for result in told] != expected:
        problems.append(f"{marker} got {[(result['outcome'], result['output_head'][:60]) for result in told]}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench_runs")
    parser.add_argument("--waits", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=50)
    options = parser.parse_args()
    suspended(options.waits, options.seconds)
    problems = at_once(options.runs, options.hosts)
    print(f"  {len(problems)} problems", *problems[:20], sep="\n    ")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
