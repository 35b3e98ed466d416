"""Doubts about an edit: they advise, and never change what was merged."""

import pytest
from drafthand.doubts import doubts
from drafthand.edits import apply_edits, split_lines
from drafthand.tools import ScriptEdit
from hypothesis import given
from hypothesis import strategies as st

HELD = "".join(f"line_{number}()\n" for number in range(1, 11))


def edit(start: int, end: int, replacement: str) -> ScriptEdit:
    return ScriptEdit(start_line=start, end_line=end, replacement=replacement)


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        pytest.param([edit(3, 3, "line_2()\nnew()")], "repeats the line before it: 'line_2()'", id="line above again"),
        pytest.param([edit(3, 3, "new()\nline_4()")], "repeats the line behind it: 'line_4()'", id="line below again"),
        pytest.param([edit(3, 3, "    new()")], "begins with 4 blanks where 0 were", id="indentation"),
        pytest.param([edit(2, 9, "new()")], "shrank from 10 to 3 lines", id="shrunk"),
        pytest.param([edit(2, 4, "a()"), edit(4, 5, "b()")], "lines 2 to 4 and of lines 4 to 5 overlap", id="overlap"),
    ],
)
def test_a_doubt_says_what_to_look_at(edits: list[ScriptEdit], told: str) -> None:
    notes = doubts(HELD, edits, apply_edits(HELD, edits))

    assert len(notes) == 1
    assert told in notes[0]


def test_a_plain_edit_raises_no_doubt() -> None:
    edits = [edit(3, 3, "new()"), edit(7, 6, "inserted()"), edit(9, 9, "")]

    assert doubts(HELD, edits, apply_edits(HELD, edits)) == []


sources = st.lists(st.sampled_from(["a = 1", "    b = 2", "", "print(a)", "\tc"]), max_size=12).map("\n".join)


@given(sources, st.data())
def test_every_edit_that_can_be_merged_can_be_doubted(held: str, data: st.DataObject) -> None:
    count = len(split_lines(held))
    edits = []
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(1, count + 1))
        edits.append(edit(start, data.draw(st.integers(start - 1, max(count, start - 1))), data.draw(sources)))
    edits = [each for each in edits if each.end_line <= count]

    notes = doubts(held, edits, apply_edits(held, edits))

    assert all(note.endswith((".", "?")) for note in notes)
