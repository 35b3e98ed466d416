"""The registry of models, read from models.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from drafthand.model import ModelSpec


@cache
def models() -> dict[str, ModelSpec]:
    """All models by id, in the order of the file."""
    tables = tomllib.loads(files("drafthand.vendors").joinpath("models.toml").read_text())
    return {name: ModelSpec(id=name, **table) for name, table in tables.items()}
