"""The registry of models: ours, and what a user adds."""

import re
from pathlib import Path

import pytest
from drafthand.model import ModelSpec
from drafthand.transcript import Opaque
from drafthand.vendors.models import BadModelFile, models

from tests.paths import ROOT

EXAMPLES = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "models.md").read_text(), re.DOTALL)
SPEC = ModelSpec(id="m", label="M", vendor="ours", dialect="chat_completions")
MINE = '[mine]\nlabel = "Mine"\nvendor = "ours"\ndialect = "chat_completions"\nbase_url = "http://10.0.0.5:8000/v1"\n'
BAD = {
    "a typo": (MINE + "contxt = 1", "[mine]: contxt: there is no such field; write context."),
    "another field": (MINE + "zzz = 1", "[mine]: zzz: there is no such field; leave it out."),
    "no label": (MINE.replace('label = "Mine"\n', ""), "[mine]: label: is missing; write it."),
    "no such dialect": (MINE.replace("chat_completions", "chat"), "[mine]: dialect: 'chat' is not one of "),
    "an id": (MINE + 'id = "x"', "[mine]: id: the table's name is the id"),
    "words for a number": (MINE + 'context = "much"', "[mine]: context: Input should be a valid integer"),
    "half a token": (MINE + "context = 1.5", "[mine]: context: "),
    "no context": (MINE + "context = 0", "[mine]: context: 0 can't be"),
    "a negative context": (MINE + "context = -5", "[mine]: context: -5 can't be"),
    "a negative output": (MINE + "max_output = -1", "[mine]: max_output: -1 can't be"),
    "more output than context": (MINE + "context = 8000", "[mine]: max_output: 16000 is more than context, 8000"),
    "no heavy": (MINE + "heavy = 0", "[mine]: heavy: 0 can't be"),
    "a negative light": (MINE + "light = -1", "[mine]: light: -1 can't be"),
    "too heavy": (MINE + "heavy = 20_000", "[mine]: heavy: 20000 is more than max_output, 16000"),
    "light too heavy": (MINE + "light = 20_000", "[mine]: light: 20000 is more than max_output, 16000"),
    "a negative price": (MINE + "price_input = -1.0", "[mine]: price_input: -1.0 can't be"),
    "a price that is none": (MINE + "price_cache_read = nan", "[mine]: price_cache_read: nan can't be"),
    "a price without end": (MINE + "price_output = inf", "[mine]: price_output: inf can't be"),
    "an empty label": (MINE.replace('"Mine"', '" "'), "[mine]: label: is empty"),
    "an empty name": (MINE + 'name = ""', "[mine]: name: is empty"),
    "an empty vendor": (MINE.replace('"ours"', '""'), "[mine]: vendor: is empty"),
    "a vendor in capitals": (MINE.replace('"ours"', '"Ours"'), "[mine]: vendor: 'Ours' can't begin"),
    "a vendor with a dash": (MINE.replace('"ours"', '"our-s"'), "[mine]: vendor: 'our-s' can't begin"),
    "a vendor with a digit first": (MINE.replace('"ours"', '"1st"'), "[mine]: vendor: '1st' can't begin"),
    "no URL": (MINE.replace("http://10.0.0.5:8000/v1", "10.0.0.5:8000"), "[mine]: base_url: '10.0.0.5:8000' is no"),
    "another scheme": (MINE.replace("http:", "ftp:"), "[mine]: base_url: 'ftp://10.0.0.5:8000/v1' is no"),
    "no host": (MINE.replace("10.0.0.5", ""), "[mine]: base_url: 'http://:8000/v1' is no"),
    "no port": (MINE.replace(":8000", ":http"), "[mine]: base_url: 'http://10.0.0.5:http/v1' is no"),
    "a blank in a URL": (MINE.replace("/v1", "/ v1"), "[mine]: base_url: 'http://10.0.0.5:8000/ v1' is no"),
    "an empty URL": (MINE.replace("http://10.0.0.5:8000/v1", ""), "[mine]: base_url: is empty"),
    "a value outside": ('label = "Mine"', "[label]: is 'Mine' and belongs to no model"),
    "a list of tables": (f"[{MINE.replace(']', ']]', 1)}", "[mine]: is a list; write [mine] for [[mine]]"),
    "a name with a dot": (MINE.replace("[mine]", "[gpt-5.2]"), "[gpt-5]: 2: is a table; a name with a dot needs"),
    "a name with a blank": (MINE.replace("[mine]", '["my model"]'), "[my model]: can't be a model's name"),
    "no TOML": ("[mine\n", " is not TOML: "),
    "a byte order mark": ("\ufeff" + MINE, " begins with a byte order mark; save it as UTF-8 without one."),
}


def loaded(folder: Path, text: str) -> dict[str, ModelSpec]:
    own = folder / "own.toml"
    own.write_text(text)
    return models(str(own))


def test_the_examples_of_the_documentation_are_models(tmp_path: Path) -> None:
    found = loaded(tmp_path, "\n".join(EXAMPLES))

    ours, mistral, ollama, openrouter, deepseek = list(found.values())[len(models()) :]
    assert (len(EXAMPLES[0].strip().splitlines()), ours.context, ours.one_call) == (6, 131_072, False)
    assert (mistral.call_ids, mistral.asks_usage, mistral.one_call) == ("alnum9", False, True)
    assert (ollama.first_event_s, ollama.asks_usage) == (600, True)
    assert openrouter.reasoning_field == "reasoning_details"
    assert deepseek.reasoning_field == "reasoning_content"


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("first_event_s = 601", "first_event_s"),
        ("image_max_bytes = 1", "image_max_bytes"),
        ("image_patches = 0", "image_patches"),
        ("parallel = true", "parallel"),
        ('reasoning_field = "thoughts"', "reasoning_field"),
    ],
)
def test_a_field_that_can_not_be_is_named(tmp_path: Path, field: str, told: str) -> None:
    with pytest.raises(BadModelFile, match=rf"own\.toml: \[mine\]: {told}: "):
        loaded(tmp_path, f"{MINE}{field}\n")


@pytest.mark.parametrize(("text", "told"), BAD.values(), ids=BAD.keys())
def test_what_can_not_be_is_told_in_one_line_with_file_model_and_field(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadModelFile) as caught:
        loaded(tmp_path, text)

    line = str(caught.value)
    assert line.startswith(f"{tmp_path / 'own.toml'}")
    assert told in line
    assert "\n" not in line


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_told(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "own.toml").write_bytes(MINE.replace("Mine", "Mïne").encode(encoding))

    with pytest.raises(BadModelFile, match=r"own\.toml is not UTF-8 .*; save it as UTF-8"):
        models(str(tmp_path / "own.toml"))


def test_a_file_that_is_not_there_or_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match=r"none\.toml can't be read: No such file"):
        models(str(tmp_path / "none.toml"))
    with pytest.raises(BadModelFile, match="can't be read: Is a directory"):
        models(str(tmp_path))


@pytest.mark.parametrize(
    ("dialect", "own"),
    [
        ("anthropic_messages", "anthropic"),
        ("openai_responses", "openai"),
        ("gemini", "gemini"),
        ("chat_completions", "openai"),
    ],
)
def test_without_an_address_only_the_dialects_own_vendor_gets_its_key(tmp_path: Path, dialect: str, own: str) -> None:
    lines = [f'[{vendor}]\nlabel = "M"\nvendor = "{vendor}"\ndialect = "{dialect}"\n' for vendor in (own, "mistral")]

    assert loaded(tmp_path, lines[0])[own].base_url is None
    models.cache_clear()
    with pytest.raises(BadModelFile, match=rf"\[mistral\]: base_url: is missing; .* sent to {own}\. Write"):
        loaded(tmp_path, lines[1])


def test_what_a_model_made_is_its_own_and_nobody_elses() -> None:
    own = Opaque(vendor="ours", model="m", kind="reasoning", data="")

    assert SPEC.made(own)
    assert not any(SPEC.made(own.model_copy(update=other)) for other in ({"vendor": "x"}, {"model": "x"}))
    assert not SPEC.made(None)
