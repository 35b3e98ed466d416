"""A model with proxies, in millimetres."""

from collections import Counter
from pathlib import Path

from tests.bench import bench
from tests.paths import shared
from tests.tasks.oracle import Step
from tests.tasks.rehearsed import SCRIPTS, looked_up

TREE = "M_RPC Tree - Deciduous:Siberian Crab Apple - 6.1 Meters"
TEXT = "Model Text:600mm Arial"


def test_the_thirteen_proxies_are_eleven_trees_and_two_texts(tmp_path: Path) -> None:
    original = shared("ifc", "LargeBuilding.ifc")
    step = Step(original)

    with bench(tmp_path, original, SCRIPTS) as work:
        words = looked_up(work, "Which proxies are in this model?", "rehearsal-chat")

    named = Counter(step.at(proxy, 2).rpartition(":")[0] for proxy in step.of("IFCBUILDINGELEMENTPROXY"))
    assert named == {TREE: 11, TEXT: 2}
    assert step.length_prefix() == ".MILLI."
    assert f"13 proxies: 11 x {TREE} and 2 x {TEXT}" in words
    assert "Lengths are in mm (0.001 m)" in words
