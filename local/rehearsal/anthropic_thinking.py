"""Anthropic Messages: signatures of thinking blocks.

The vendor binds a thinking block to the model that made it and to everything that stood before it, so that editing,
dropping or re-truncating any earlier message makes the later blocks invalid. The rehearsal's signature is an HMAC over
just that. Its key is no secret: it has to survive restarts, and it protects nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from local.rehearsal.anthropic_request import RedactedThinkingBlock, ThinkingBlock, Turn, canonical

KEY = b"rehearsal, no secret"


class Prefix:
    """A running hash of a conversation, block by block."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, kind: str, content: str) -> None:
        self._hash.update(f"{kind}\0{content}\0".encode())

    def digest(self) -> str:
        return self._hash.hexdigest()


def prefix_of(turns: Sequence[Turn]) -> str:
    """The hash of a whole conversation: what the next turn's signature is bound to."""
    prefix = Prefix()
    for turn in turns:
        for placed in turn.blocks:
            prefix.add(turn.role, canonical(placed.block))
    return prefix.digest()


def sign(model: str, prefix: str, thinking: str) -> str:
    """The signature of a thinking text that `model` produces after the conversation `prefix`."""
    message = "\0".join((model, prefix, thinking)).encode()
    return base64.b64encode(hmac.digest(KEY, message, "sha256")).decode()


def signature_problem(model: str, turns: Sequence[Turn]) -> str | None:
    """The vendor's text for the first thinking block that this model did not make at this place."""
    prefix = Prefix()
    for turn in turns:
        for placed in turn.blocks:
            block = placed.block
            if isinstance(block, RedactedThinkingBlock):  # the rehearsal makes none, so it is somebody else's
                return f"{placed.at}: Invalid `data` in `redacted_thinking` block"
            if isinstance(block, ThinkingBlock) and block.signature != sign(model, prefix.digest(), block.thinking):
                return f"{placed.at}: Invalid `signature` in `thinking` block"
            prefix.add(turn.role, canonical(block))
    return None
