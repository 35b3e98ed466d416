"""Faults that are put into a sound model by editing its text are found, all of them and no others."""

import re
from pathlib import Path

from tests.bench import bench
from tests.paths import shared
from tests.tasks.oracle import Step
from tests.tasks.rehearsed import DUPLEX, SCRIPTS, answer


def test_three_lost_fillings_and_four_lost_containments_are_found(tmp_path: Path) -> None:
    original = shared(*DUPLEX)
    sound = Step(original)
    fillings = sound.of("IFCRELFILLSELEMENT")[:3]
    unhosted = {sound.at(filling, 5) for filling in fillings}
    level_1 = sound.storeys()["Level 1"][0]
    (relation,) = [each for each in sound.of("IFCRELCONTAINEDINSPATIALSTRUCTURE") if sound.at(each, 5) == level_1]
    contained = sound.at(relation, 4)
    loose = {
        element
        for kind in ("IFCDOOR", "IFCWALLSTANDARDCASE")
        for element in [each for each in contained if sound.classes[each] == kind][:2]
    }
    broken = tmp_path / "broken.ifc"
    broken.write_text(without(original.read_text("ascii"), fillings, relation, loose), "ascii")

    with bench(tmp_path, broken, SCRIPTS) as work:
        words, (result,) = answer(work, "Audit hosts and containment")

    still_hosted = {Step(broken).at(each, 5) for each in Step(broken).of("IFCRELFILLSELEMENT")}
    assert set(sound.of("IFCDOOR", "IFCWINDOW")) - still_hosted == unhosted
    assert set(contained) - set(Step(broken).at(relation, 4)) == loose
    assert named(result["output_head"], "unhosted") == unhosted
    assert named(result["output_head"], "uncontained") == loose
    assert (len(unhosted), len(loose)) == (3, 4)
    assert "3 of 38 doors and windows fill no opening. 4 elements are in no storey" in words
    assert work.model.read_bytes() == broken.read_bytes()


def without(text: str, entities: list[int], relation: int, members: set[int]) -> str:
    """The text without some entities, and without some members of one relation."""
    lines = []
    for line in text.splitlines():
        number = int(found[1]) if (found := re.match(r"#(\d+)=", line)) else None
        if number in entities:
            continue
        if number == relation:
            for member in members:
                line = re.sub(rf"#{member},|,#{member}(?=\))", "", line, count=1)
        lines.append(line)
    return "\n".join(lines) + "\n"


def named(output: str, fault: str) -> set[int]:
    """The elements that the script printed under a fault."""
    return {int(number) for number in re.findall(rf"^{fault} #(\d+) ", output, re.MULTILINE)}
