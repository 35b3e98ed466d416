"""What every model is told first: short, versioned, and tested as data."""

from __future__ import annotations

from importlib.resources import files

from drafthand.capabilities import CAPABILITIES

VERSION = "2026.12.2"
"""Changes with every word of system.md; the audit names it."""


def system_prompt(host_app: str | None) -> str:
    """The system prompt, with the section on the session's application where it is known."""
    text = files("drafthand.prompts").joinpath("system.md").read_text()
    capability = CAPABILITIES.get(host_app or "")
    return text if capability is None else f"{text}\n{capability.prompt}"
