import pytest
from drafthand.edits import BadEdit, apply_edits, numbered_region, split_lines
from drafthand.tools import ScriptEdit
from hypothesis import given
from hypothesis import strategies as st

SCRIPT = "one\ntwo\nthree\nfour\n"


def edit(start: int, end: int, replacement: str) -> ScriptEdit:
    return ScriptEdit(start_line=start, end_line=end, replacement=replacement)


def test_one_line_is_replaced() -> None:
    assert apply_edits(SCRIPT, [edit(2, 2, "TWO")]) == "one\nTWO\nthree\nfour\n"


def test_line_numbers_of_all_edits_are_those_of_the_held_script() -> None:
    edits = [edit(1, 1, "1a\n1b\n1c"), edit(4, 4, "FOUR")]

    assert apply_edits(SCRIPT, edits) == apply_edits(SCRIPT, edits[::-1]) == "1a\n1b\n1c\ntwo\nthree\nFOUR\n"


def test_an_empty_range_inserts_before_its_line() -> None:
    assert apply_edits(SCRIPT, [edit(3, 2, "new")]) == "one\ntwo\nnew\nthree\nfour\n"
    assert apply_edits(SCRIPT, [edit(5, 4, "last")]) == SCRIPT + "last\n"


def test_an_empty_replacement_deletes() -> None:
    assert apply_edits(SCRIPT, [edit(2, 3, "")]) == "one\nfour\n"


@pytest.mark.parametrize(("start", "end"), [(5, 5), (4, 9), (6, 5)])
def test_a_line_that_is_not_there_is_named(start: int, end: int) -> None:
    with pytest.raises(BadEdit, match="the held script has 4 lines"):
        apply_edits(SCRIPT, [edit(start, end, "x")])


def test_lines_are_counted_as_the_compiler_counts_them() -> None:
    assert split_lines("a\x0cb\u2028c\r\nd\re") == ["a\x0cb\u2028c", "d", "e"]


@given(lines=st.lists(st.text("ab ", max_size=4), min_size=1, max_size=12), data=st.data())
def test_edits_that_do_not_overlap_equal_a_plain_rebuild(lines: list[str], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(lines)), max_size=6, unique=True).map(sorted))
    ranges = list(zip(cuts[::2], cuts[1::2], strict=False))
    texts = [data.draw(st.lists(st.text("xy", min_size=1, max_size=3), max_size=3)) for _ in ranges]
    expected, at = [], 0
    for (first, after), new in zip(ranges, texts, strict=True):
        expected += lines[at:first] + new
        at = after
    expected += lines[at:]

    edits = [edit(first + 1, after, "\n".join(new)) for (first, after), new in zip(ranges, texts, strict=True)]

    assert apply_edits("\n".join(lines) + "\n", edits) == "\n".join(expected) + "\n"


def test_the_region_about_a_line_carries_its_numbers() -> None:
    script = "".join(f"line {number}\n" for number in range(1, 101))

    region = numbered_region(script, 100, around=2)

    assert region == " 98 | line 98\n 99 | line 99\n100 | line 100"


def test_two_insertions_at_one_place_stand_in_the_order_in_which_they_were_sent() -> None:
    edits = [ScriptEdit(start_line=2, end_line=1, replacement=letter) for letter in "AB"]

    assert apply_edits("1\n2\n", edits) == "1\nA\nB\n2\n"
