"""The registry of models: models.toml, and a file of the user's own beside it."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drafthand.model import ModelSpec
from drafthand.vendors import DIALECTS
from drafthand.vendors.access import is_url

HOMES = {
    "anthropic_messages": ("anthropic",),
    "openai_responses": ("openai",),
    "gemini": ("gemini", "google"),
    "chat_completions": ("openai", "chat"),  # `chat` is at CHAT_BASE_URL
}
"""Whose models a dialect's SDK reaches without an address. Anybody else's key would be sent to a stranger."""
VENDOR = re.compile(r"[a-z][a-z0-9_]*")
BUDGETS = ("heavy", "light")
PRICES = ("price_input", "price_cache_read", "price_cache_write", "price_output")


class BadModelFile(ValueError):
    """A models file can't be used; the message is one line that names file, model and field, and what to do."""


@cache
def models(own: str | None = None) -> dict[str, ModelSpec]:
    """All models by id, in the order of the files.

    Args:
        own: path of a TOML file whose models are added to ours, or replace those of the same id.

    Raises:
        BadModelFile: a file is not what it should be.
    """
    ours = files("drafthand.vendors").joinpath("models.toml").read_bytes()
    return _read(ours, "models.toml") | (_read(_bytes(own), own) if own else {})


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadModelFile(f"{path} can't be read: {error.strerror}. DRAFTHAND_MODELS must name a file.") from error


def _read(data: bytes, source: str) -> dict[str, ModelSpec]:
    try:
        if data.startswith(b"\xef\xbb\xbf"):
            raise BadModelFile(f"{source} begins with a byte order mark; save it as UTF-8 without one.")
        tables = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise BadModelFile(f"{source} is not UTF-8 (byte {error.start}); save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise BadModelFile(f"{source} is not TOML: {error}.") from error
    found = {}
    for name, table in tables.items():
        faults = list(_shape_faults(name, table))
        if not faults:
            try:
                found[name] = ModelSpec(id=name, **table)
                faults = list(_value_faults(found[name]))
            except ValidationError as error:
                faults = [_told(each) for each in error.errors()]
        if faults:
            raise BadModelFile(f"{source}: [{name}]: {'; '.join(faults)}.".replace("\n", " "))
    return found


def _shape_faults(name: str, table: Any) -> Iterator[str]:
    """What keeps a table from being a model at all."""
    if isinstance(table, list):
        yield f"is a list; write [{name}] for [[{name}]], and give each model a name of its own"
    elif not isinstance(table, dict):
        yield f"is {table!r} and belongs to no model; write it below a line [name-of-the-model]"
    elif not name or not name.isprintable() or name.split() != [name]:
        yield "can't be a model's name; write one without spaces"
    elif "id" in table:
        yield "id: the table's name is the id; what the vendor calls the model goes into `name`"
    else:
        for field, value in table.items():
            if isinstance(value, dict):
                yield f'{field}: is a table; a name with a dot needs quotes, ["{name}.{field}"]'


def _told(error: Any) -> str:
    """One error of pydantic's, with what to do about it."""
    field = ".".join(str(place) for place in error["loc"])
    if error["type"] == "missing":
        return f"{field}: is missing; write it"
    if error["type"] != "extra_forbidden":
        return f"{field}: {error['msg']}, not {error['input']!r}"
    near = difflib.get_close_matches(field, ModelSpec.model_fields, 1)
    return f"{field}: there is no such field" + (f"; write {near[0]}" if near else "; leave it out")


def _value_faults(spec: ModelSpec) -> Iterator[str]:
    """What is of the right type and still can't be."""
    for field, value in spec:
        if isinstance(value, str) and not value.strip():
            yield f"{field}: is empty; write something"
    if spec.dialect not in DIALECTS:
        yield f"dialect: {spec.dialect!r} is not one of {', '.join(DIALECTS)}; write one of them"
    elif not spec.base_url and not spec.rehearsal and spec.vendor not in HOMES[spec.dialect]:
        yield (
            f"base_url: is missing; without it the key of {spec.vendor!r} would be sent to {HOMES[spec.dialect][0]}. "
            "Write the server's address"
        )
    if spec.vendor.strip() and not VENDOR.fullmatch(spec.vendor):
        yield (
            f"vendor: {spec.vendor!r} can't begin the name of a variable, <VENDOR>_API_KEY; "
            "write lower-case letters, digits and _ only, a letter first"
        )
    if spec.base_url is not None and not is_url(spec.base_url):
        yield f"base_url: {spec.base_url!r} is no http or https URL; write it like http://127.0.0.1:8000/v1"
    yield from _number_faults(spec)


def _number_faults(spec: ModelSpec) -> Iterator[str]:
    for field in ("context", "max_output", *BUDGETS):
        if getattr(spec, field) <= 0:
            yield f"{field}: {getattr(spec, field)} can't be; write a number of tokens above 0"
    if spec.max_output > spec.context > 0:
        yield f"max_output: {spec.max_output} is more than context, {spec.context}; write less"
    for field in BUDGETS:
        if getattr(spec, field) > spec.max_output > 0:
            yield f"{field}: {getattr(spec, field)} is more than max_output, {spec.max_output}; write {field} as less"
    for field in PRICES:
        price = getattr(spec, field)
        if price is not None and not (math.isfinite(price) and price >= 0):
            yield f"{field}: {price} can't be; write US dollars per million tokens, 0 or more"
