"""Runs of the tasks, and what is asked of each of them."""

from pathlib import Path
from typing import Any

from tests.bench import Bench
from tests.flow.served import kinds

SCRIPTS = [path.read_text("utf-8") for path in sorted(Path(__file__).with_name("scripts").glob("*.yaml"))]
DUPLEX = ("ifc", "Duplex_A_20110907.ifc")


def answer(bench: Bench, message: str, model: str = "rehearsal") -> tuple[str, list[dict[str, Any]]]:
    """The final words of a run that completed, and the facts of its tool results."""
    chunks = bench.run(message, model=model)
    last = chunks[-1]
    assert last["type"] == "Complete", last
    assert "rehearsal can't go on" not in last["content"], last["content"]
    results = kinds(chunks, "tool_result")
    assert results, "the answer would be made up"
    return last["content"], results


def looked_up(bench: Bench, message: str, model: str) -> str:
    """The final words of a run that only looked: the file is byte for byte what it was."""
    before = bench.model.read_bytes()
    words, results = answer(bench, message, model)
    assert [result["outcome"] for result in results] == ["rolled_back"]
    assert bench.model.read_bytes() == before
    return words
