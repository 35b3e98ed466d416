"""`python -m tests.chaos`: play histories, print what happened in them, and fail where anything was violated."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from hosts.ifc.sample import build_sample
from tests.chaos.history import History
from tests.chaos.host import Desk, desk
from tests.chaos.invariants import violations
from tests.chaos.killed import killed

Found = dict[str, list[str]]


def play(at: Desk, seed: int) -> list[str]:
    """Play the history of a seed in this process; what is violated."""
    history = History(at, seed)
    try:
        at.wait(history.play())
        return violations(history)
    finally:
        history.forget()


def each(name: str, seeds: Iterable[int], played: Callable[[int], list[str]]) -> Found:
    """What is violated in each history; it is printed at once."""
    found: Found = {}
    for seed in seeds:
        try:
            violated = played(seed)
        except Exception:  # noqa: BLE001 - whatever it is, this history did not hold, and the others are to be played
            violated = [f"it broke off: {traceback.format_exc()}"]
        if violated:
            found[f"{name} {seed}"] = violated
            print(f"{name} {seed}:", *violated, sep="\n  ", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeat the one history of this seed, and log everything")
    parser.add_argument("--histories", type=int, default=500, help="so many in this process, from seed 1 on")
    parser.add_argument("--killed", type=int, default=8, help="so many with whole servers that are killed")
    parser.add_argument("--killed-seed", type=int, help="repeat the one of this seed")
    options = parser.parse_args()
    one = options.seed is not None or options.killed_seed is not None
    seeds = [options.seed] if options.seed is not None else range(1, 0 if one else options.histories + 1)
    kills = [options.killed_seed] if options.killed_seed is not None else range(1, 0 if one else options.killed + 1)
    if not one:
        logging.disable(logging.CRITICAL)  # processes die by the hundred, and each says so
    happened: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with desk(folder / "desk") as at:
            found = each("seed", seeds, lambda seed: play(at, seed))
            happened += at.happened
        sample = folder / "sample.ifc"
        build_sample(sample)
        found |= each("killed seed", kills, lambda seed: killed(folder / f"killed{seed}", sample, seed, happened))
    print(f"{len(seeds)} histories and {len(kills)} with whole servers in {time.monotonic() - began:.0f} s")
    for what, times in sorted(happened.items()):
        print(f"  {times:6,}  {what}")
    print(f"{sum(map(len, found.values()))} violations in {len(found)} histories. {', '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
