import io
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.runtime import execute
from hosts.runtime.capture import Capture, OutputLimit


def run(source: str, **names: object) -> dict | None:
    return execute.run(source, {"__name__": "__main__", **names})


def printed(source: str, limit: int = 10_000, **names: object) -> bytes:
    sink = io.BytesIO()
    with Capture(sink, limit):
        assert run(source, **names) is None
    return sink.getvalue()


def test_a_script_that_ends_has_no_error_and_works_on_the_names_it_was_given():
    found = []

    assert run("found.append(n * 2)", found=found, n=21) is None
    assert found == [42]


def test_an_error_names_the_line_of_the_script():
    assert run("a = 1\n\nraise ValueError('no such door')\n") == {
        "type": "ValueError",
        "message": "no such door",
        "line": 3,
    }


def test_an_error_deep_in_a_library_names_the_deepest_line_of_the_script():
    source = "import json\ndef load(text):\n    return json.loads(text)\nload('{')\n"

    assert run(source)["line"] == 3


def test_a_function_of_the_script_that_a_library_calls_is_deeper_than_the_call():
    assert run("def key(x):\n    return 1 / x\n\nsorted([1, 0], key=key)")["line"] == 2


def test_a_syntax_error_names_its_line():
    error = run("a = 1\nb = = 2\n")

    assert (error["type"], error["line"]) == ("SyntaxError", 2)


def test_a_syntax_error_in_text_the_script_compiles_itself_names_the_scripts_line():
    assert run("a = 1\ncompile('b = = 2', 'other', 'exec')")["line"] == 2


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import sys; sys.exit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("'x' * 10 ** 15", "MemoryError"),
        ("def f(): f()\nf()", "RecursionError"),
        ("class Odd(BaseException): pass\nraise Odd", "Odd"),
        ("a = '\0'", "SyntaxError"),
    ],
)
def test_everything_a_script_may_raise_is_an_ordinary_failure(source, kind):
    assert run(source)["type"] == kind


def test_an_exception_that_cannot_be_printed_is_told_all_the_same():
    error = run("class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Odd")

    assert error == {"type": "Odd", "message": "(no message: its __str__ raised ZeroDivisionError)", "line": 4}


@given(before=st.integers(0, 30), after=st.integers(0, 30))
def test_the_line_is_right_wherever_the_error_stands(before, after):
    source = "pass\n" * before + "undefined_name\n" + "pass\n" * after

    assert run(source)["line"] == before + 1


def test_output_is_kept_byte_for_byte():
    assert printed("print('a\\r\\nb', end='\\x00')\nprint('é\\ud800')") == b"a\r\nb\x00\xc3\xa9\\ud800\n"


def test_bytes_and_explicit_writes_are_kept_in_order():
    source = "import sys\nprint(1)\nsys.stdout.buffer.write(b'\\xff')\nsys.stdout.writelines(['a', 'b'])"

    assert printed(source) == b"1\n\xffab"


def test_closing_standard_output_loses_nothing():
    assert printed("import sys\nprint(1)\nsys.stdout.close()\nprint(2)") == b"1\n2\n"


def test_what_threads_print_is_kept():
    source = "t = [Thread(target=print, args=(i,)) for i in range(8)]\n[x.start() for x in t]\n[x.join() for x in t]"

    assert sorted(printed(source, Thread=threading.Thread).split()) == [b"%d" % i for i in range(8)]


def test_a_process_that_a_script_starts_can_print_too(tmp_path):
    with open(tmp_path / "out", "ab", buffering=0) as sink, Capture(sink, 100):
        error = run(
            "import sys\nprint('one')\nsubprocess.run(['echo', 'two'], stdout=sys.stdout)\nprint('three')",
            subprocess=subprocess,
        )

    assert error is None
    assert (tmp_path / "out").read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.parametrize("swallow", ["Exception", "BaseException"])
def test_a_script_is_stopped_at_the_ceiling_and_what_fitted_is_kept(swallow):
    sink = io.BytesIO()
    source = f"try:\n    while True: print('12345')\nexcept {swallow}: pass"

    with Capture(sink, 20) as capture:
        error = run(source)

    assert sink.getvalue() == b"12345\n12345\n12345\n12"
    assert capture.overflowed
    if swallow == "Exception":
        assert (error["type"], error["line"]) == ("OutputLimit", 2)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=20)), st.integers(0, 60))
def test_the_ceiling_counts_characters_exactly(pieces, limit):
    sink = io.BytesIO()
    whole = "".join(pieces)

    with Capture(sink, limit) as capture:
        try:
            for piece in pieces:
                print(piece, end="")
        except OutputLimit:
            pass

    assert sink.getvalue().decode() == whole[:limit]
    assert capture.overflowed == (len(whole) > limit)


def test_standard_output_is_put_back_after_a_failure():
    before = sys.stdout

    with Capture(io.BytesIO(), 10):
        run("import sys; sys.stdout = None; 1 / 0")

    assert sys.stdout is before
