"""What of a long output reaches the model."""

import re

import pytest
from drafthand.digest import LIMIT_CHARS, digest, line_count
from hypothesis import given
from hypothesis import strategies as st


def test_a_short_output_is_left_as_it_is() -> None:
    assert digest("one\n\ntwo\ntwo\n") == "one\n\ntwo\ntwo"


def test_a_line_repeated_60_000_times_becomes_one_with_its_count() -> None:
    shown = digest("begin\n" + "warning: no level\n" * 60_000 + "end\n")

    assert shown.split("\n")[:3] == ["begin", "warning: no level [this line 60,000 times]", "end"]
    assert "showing 60,002 of 60,002 lines" in shown


def test_repeats_are_folded_before_anything_is_left_out() -> None:
    rows = "".join(f"row {number}\n" for number in range(20))

    shown = digest(rows + "same\n" * 100_000 + rows)

    assert "left out" not in shown
    assert shown.count("row 19") == 2


def test_a_long_output_keeps_head_and_tail_and_tells_the_true_totals() -> None:
    text = "".join(f"row {number}\n" for number in range(60_112))

    lines = digest(text).split("\n")

    assert (lines[0], lines[-2]) == ("row 0", "row 60111")
    told = re.search(r"\[showing ([\d,]+) of 60,112 lines, ([\d,]+) characters in all", lines[-1])
    assert told is not None
    shown = [line for line in lines if line.startswith("row ")]
    assert told[1] == f"{len(shown):,}"
    assert told[2] == f"{len(text):,}"
    assert f"[... {60_112 - len(shown):,} lines left out ...]" in lines


def test_a_line_that_has_room_is_not_cut() -> None:
    line = "[" + "1, " * 2_000 + "2]"

    assert digest(line) == line


def test_what_is_indented_stays_indented() -> None:
    assert digest("if a:\n" + "    x = 1\n" * 3).split("\n")[1] == "    x = 1 [this line 3 times]"


@given(
    st.lists(st.text("ab ", min_size=1, max_size=3_000).map("row {}".format), min_size=1, max_size=12),
    st.sampled_from([400, 2_000]),
)
def test_something_is_always_shown_of_the_beginning(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)

    shown = digest(text, limit)

    assert shown.startswith(text.split("\n")[0][:50])
    assert "showing 0 of" not in shown


def test_one_endless_line_is_cut_in_its_middle() -> None:
    shown = digest("[" + "1, " * 100_000 + "2]")

    assert shown.startswith("[1, 1")
    assert "300,003 characters" in shown
    assert "2]\n[showing 1 of 1 lines" in shown


@given(st.lists(st.sampled_from(["a", "", "b" * 3_000, "c" * 40]) | st.text(max_size=30), max_size=400))
def test_order_is_kept_and_the_size_bounded(lines: list[str]) -> None:
    text = "\n".join(lines)

    shown = digest(text, 2_000)

    assert len(shown) < 2_000 + 300
    plain = [line for line in shown.split("\n") if not line.startswith("[")]
    rest = iter(text.split("\n"))
    whole = [re.sub(r" \[(this line|\.\.\.) .*", "", line) for line in plain]
    assert all(any(found.startswith(line) for found in rest) for line in whole), "a line that is out of order"


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb", 2)])
def test_lines_are_counted_as_a_person_counts_them(text: str, count: int) -> None:
    assert line_count(text) == count


def test_nothing_of_the_room_is_given_away() -> None:
    text = "".join(f"{number:06}\n" for number in range(100_000))

    assert LIMIT_CHARS * 0.95 < len(digest(text)) < LIMIT_CHARS + 200
