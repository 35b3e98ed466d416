"""Arguments of a call, put together from pieces by JSONPath."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from drafthand.vendors.gemini_arguments import Arguments, steps_of
from drafthand.vendors.hygiene import clean_all
from google.genai.types import PartialArg
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name == clean_all(name))
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3),
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)


def pieces(value: Any, path: str, size: int) -> Iterator[PartialArg]:
    """The value as the vendor streams it: in document order, strings cut and closed by an empty piece."""
    match value:
        case dict():
            for name, item in value.items():
                yield from pieces(item, f"{path}[{json.dumps(name)}]", size)
        case list():
            for index, item in enumerate(value):
                yield from pieces(item, f"{path}[{index}]", size)
        case str():
            for start in range(0, len(value), size):
                yield PartialArg(json_path=path, string_value=value[start : start + size], will_continue=True)
            yield PartialArg(json_path=path, string_value="")
        case bool():
            yield PartialArg(json_path=path, bool_value=value)
        case int():
            yield PartialArg(json_path=path, number_value=value)
        case None:
            yield PartialArg(json_path=path, null_value="NULL_VALUE")


def put(*partials: PartialArg) -> tuple[Arguments, list[str]]:
    arguments = Arguments()
    return arguments, [arguments.piece(partial) for partial in partials]


@given(OBJECTS, st.integers(1, 5))
def test_pieces_in_order_become_the_object_and_their_text_its_json(value: dict[str, Any], size: int) -> None:
    value = clean_all(value)
    arguments, told = put(*pieces(value, "$", size))

    assert (arguments.value, arguments.broken, arguments.open) == (value, False, None)
    assert "".join(told) + arguments.rest() == arguments.raw == json.dumps(value, ensure_ascii=False)


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=5), st.booleans()), max_size=6))
def test_pieces_at_any_path_never_raise_and_never_tell_what_they_must_take_back(
    found: list[tuple[str, str, bool]],
) -> None:
    arguments, told = put(
        *(PartialArg(json_path=f"$.a{path}", string_value=text, will_continue=more) for path, text, more in found)
    )

    rest = arguments.rest()
    assert json.loads(arguments.raw) == arguments.value
    assert "".join(told) + rest == arguments.raw or rest == ""


def test_a_value_out_of_order_is_taken_but_no_longer_told() -> None:
    arguments, told = put(
        PartialArg(json_path="$.view.kind", string_value="3d"),
        PartialArg(json_path="$.code", string_value="1"),
        PartialArg(json_path="$.view.storey", string_value="L1"),
    )

    assert arguments.value == {"view": {"kind": "3d", "storey": "L1"}, "code": "1"}
    assert told == ['{"view": {"kind": "3d"', '}, "code": "1"', ""]
    assert arguments.rest() == ""


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.code", ["code"]),
        ("$.edits[12].start_line", ["edits", 12, "start_line"]),
        ("$['it''s'][0]", None),
        (r"$['it\'s \"q\"']", None),
        (r"$['it\'s'][0]", ["it's", 0]),
        (r'$["a \"b\" \u00e9"]', ['a "b" é']),
        ("$['a.b[0]']", ["a.b[0]"]),
        ("$", None),
        ("", None),
        ("code", None),
        ("$.a[*]", None),
        ("$..a", None),
        ("$.a[-1]", None),
        (r"$['\q']", None),
    ],
)
def test_a_path_names_one_place_or_none(path: str, steps: list[str | int] | None) -> None:
    if steps is None:
        with pytest.raises(ValueError):  # noqa: PT011 - also what the JSON parser raises
            steps_of(path)
    else:
        assert steps_of(path) == steps


@pytest.mark.parametrize(
    "partials",
    [
        [PartialArg(json_path="$.a[1]", string_value="x")],
        [PartialArg(json_path="$[0]", string_value="x")],
        [PartialArg(json_path="$.a", string_value="x"), PartialArg(json_path="$.a.b", string_value="y")],
        [PartialArg(json_path="$.a[0]", string_value="x"), PartialArg(json_path="$.a.b", string_value="y")],
        [PartialArg(json_path="$.a")],
    ],
)
def test_what_fits_nowhere_breaks_the_call(partials: list[PartialArg]) -> None:
    assert put(*partials)[0].broken


def test_numbers_stay_whole_where_they_are() -> None:
    arguments, _ = put(PartialArg(json_path="$.a", number_value=3), PartialArg(json_path="$.b", number_value=0.5))

    assert arguments.raw == '{"a": 3, "b": 0.5}'
