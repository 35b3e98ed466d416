"""Anthropic Messages: the vendor's own compaction, a beta.

A request that has outgrown its trigger is summed up first; the answer begins with a block that holds the summary, and
goes on from there. In later requests the newest such block stands for all that came before it. The block is sealed: its
signature records the text and is an HMAC over that. The key is no secret: it has to survive restarts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence

from local.rehearsal.anthropic_request import CompactionBlock, Placed, Request, Turn
from local.rehearsal.wire import MODEL, Refused

KEY = b"rehearsal, no secret"
BETA = "compact-2026-01-12"
TRIGGER = 150_000
UNKNOWN_BLOCK = (
    "Input tag 'compaction' found using 'type' does not match any of the expected tags: 'image', 'redacted_thinking', "
    "'text', 'thinking', 'tool_result', 'tool_use'"
)
RECORD_CHARS = 64


def beta_checked(headers: Mapping[str, str], request: Request) -> None:
    """Without the header the vendor knows neither the option nor the block.

    Raises:
        Refused: 400.
    """
    if BETA in [name.strip() for name in headers.get("anthropic-beta", "").split(",")]:
        return
    if request.context_management is not None:
        raise Refused(400, "invalid_request_error", "context_management: Extra inputs are not permitted")
    for number, message in enumerate(request.messages):
        for index, block in enumerate(message.content):
            if isinstance(block, CompactionBlock):
                at = f"messages.{number}.content.{index}"
                raise Refused(400, "invalid_request_error", f"{at}: {UNKNOWN_BLOCK}")


def trigger_of(request: Request) -> int | None:
    """Tokens from which on the request is compacted; None where that was not asked for."""
    if request.context_management is None or not request.context_management.edits:
        return None
    trigger = request.context_management.edits[0].trigger
    return trigger.value if trigger else TRIGGER


def sealed(content: str) -> CompactionBlock:
    """The block with this summary, as the model makes it."""
    encrypted = base64.b64encode(hmac.digest(KEY, f"state\0{content}".encode(), "sha256")).decode()
    record = hashlib.sha256(content.encode()).hexdigest()
    return CompactionBlock(
        type="compaction", content=content, encrypted_content=encrypted, signature=_sign(record, encrypted)
    )


def _sign(record: str, encrypted: str) -> str:
    code = hmac.digest(KEY, f"{MODEL}\0{record}\0{encrypted}".encode(), "sha256")
    return base64.b64encode(record.encode() + code).decode()


def compaction_problem(turns: Sequence[Turn]) -> str | None:
    """The vendor's text for the first block that it did not make so."""
    for turn in turns:
        for placed, block in turn.of(CompactionBlock):
            if block.content is None:  # a compaction that failed: nobody reads it
                continue
            record = _record(block)
            if block.signature != _sign(record, block.encrypted_content or ""):
                return f"{placed.at}: The `compaction` block's `signature` does not verify."
            if record != hashlib.sha256(block.content.encode()).hexdigest():
                return (
                    f"{placed.at}: The `compaction` block's `content` differs from the text its `signature` recorded."
                )
    return None


def _record(block: CompactionBlock) -> str:
    try:
        return base64.b64decode(block.signature or "", validate=True)[:RECORD_CHARS].decode()
    except ValueError:  # not base64, or not UTF-8
        return ""


def since_compaction(turns: Sequence[Turn]) -> list[Turn]:
    """What the model reads: the newest block with a summary, and what follows it."""
    for number in range(len(turns) - 1, -1, -1):
        for index in range(len(turns[number].blocks) - 1, -1, -1):
            block = turns[number].blocks[index].block
            if isinstance(block, CompactionBlock) and block.content is not None:
                rest = Turn(turns[number].role, turns[number].blocks[index:])
                return [rest, *turns[number + 1 :]]
    return list(turns)


def alone(block: CompactionBlock) -> list[Turn]:
    """The conversation that a new block leaves."""
    return [Turn("assistant", [Placed(0, 0, block)])]
