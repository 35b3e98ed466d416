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
    with pytest.raises(BadModelFile, match=rf"(?s)own\.toml: \[mine\].*{told}") as caught:
        loaded(tmp_path, f'[mine]\nlabel = "Mine"\nvendor = "ours"\ndialect = "chat_completions"\n{field}\n')

    assert "mine" in str(caught.value)


def test_what_a_model_made_is_its_own_and_nobody_elses() -> None:
    own = Opaque(vendor="ours", model="m", kind="reasoning", data="")

    assert SPEC.made(own)
    assert not any(SPEC.made(own.model_copy(update=other)) for other in ({"vendor": "x"}, {"model": "x"}))
    assert not SPEC.made(None)
