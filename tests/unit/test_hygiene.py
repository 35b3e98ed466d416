"""Text from a vendor, made fit for every encoder; names on the way to one."""

import itertools
import json
import re
from types import SimpleNamespace

import pytest
from drafthand.vendors.hygiene import Written, clean, clean_all, count, tool_name
from hypothesis import given
from hypothesis import strategies as st

TEXT = st.text(st.characters(categories=None) | st.sampled_from("\ud83d\ude00\ud800"))
"""Lone surrogates and halves side by side, too."""


@given(TEXT)
def test_any_text_becomes_one_that_can_be_encoded_and_a_sound_one_stays(text: str) -> None:
    cleaned = clean(text)

    assert clean(cleaned) == cleaned == cleaned.encode().decode()
    assert cleaned == text or re.search("[\ud800-\udfff]", text)


@given(TEXT, st.lists(st.integers(0, 40)))
def test_cut_anywhere_pieces_become_what_the_whole_becomes(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    written = Written()

    told = [written.add(text[start:end]) for start, end in itertools.pairwise(places)] + [written.end()]

    assert "".join(told) == written.text == clean(text)


def test_every_text_of_a_value_is_cleaned_its_names_too() -> None:
    value = json.loads(r'{"a\ud800": ["\ud83d\ude00", {"b": "\udc00"}], "n": 1.5, "z": null}')

    assert clean_all(value) == {"a\ufffd": ["😀", {"b": "\ufffd"}], "n": 1.5, "z": None}
    assert clean_all(None) is None


@pytest.mark.parametrize(
    ("name", "sent"),
    [("capture_view", "capture_view"), ("functions.run it", "functions_run_it"), ("", "unnamed"), ("x" * 80, "x" * 64)],
)
def test_a_tools_name_is_made_possible(name: str, sent: str) -> None:
    assert tool_name(name) == sent


def test_a_count_that_was_left_out_is_nothing() -> None:
    usage = SimpleNamespace(prompt=7, details=SimpleNamespace(cached=None))

    assert [count(usage, "prompt"), count(usage, "details", "cached"), count(usage, "no", "such")] == [7, 0, 0]
    assert count(None, "prompt") == 0
