"""The registry of models: models.toml, and a file of the user's own beside it."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from drafthand.model import ModelSpec
from drafthand.vendors import DIALECTS


class BadModelFile(ValueError):
    """A models file can't be used; the message names file, model and field."""


@cache
def models(own: str | None = None) -> dict[str, ModelSpec]:
    """All models by id, in the order of the files.

    Args:
        own: path of a TOML file whose models are added to ours, or replace those of the same id.

    Raises:
        BadModelFile: a file is not what it should be.
    """
    ours = files("drafthand.vendors").joinpath("models.toml").read_text()
    return _read(ours, "models.toml") | (_read(Path(own).read_text(), own) if own else {})


def _read(text: str, source: str) -> dict[str, ModelSpec]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadModelFile(f"{source} is not TOML: {error}.") from error
    found = {}
    for name, table in tables.items():
        try:
            found[name] = ModelSpec(id=name, **table)
        except (ValidationError, TypeError) as error:
            raise BadModelFile(f"{source}: [{name}]: {error}") from error
        if found[name].dialect not in DIALECTS:
            raise BadModelFile(f"{source}: [{name}]: dialect must be one of {', '.join(DIALECTS)}.")
    return found
