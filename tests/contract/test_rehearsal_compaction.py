"""What the strict rehearsal takes and refuses of a vendor's own compaction."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from drafthand.model import TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Compaction, Message, Opaque, Text

from local.rehearsal import anthropic_compaction
from local.rehearsal.responses_compaction import sealed, summary_of
from tests.contract.test_compaction import SPECS, Server
from tests.contract.test_vendor_compaction import BUILD, WINDOW, edits, vendors

BETA = {"anthropic-beta": "compact-2026-01-12"}


def body(dialect: str, transcript: list[Message], **changes: Any) -> dict[str, Any]:
    spec = vendors(dialect, **changes)
    request = BUILD[dialect](transcript, TOOLS, TurnSettings(spec, "s", 100))
    request.pop("betas", None)
    return request


async def post(dialect: str, request: dict[str, Any], headers: dict[str, str]) -> tuple[int, str]:
    path = "/v1/messages" if dialect == "anthropic_messages" else "/v1/responses"
    keys = {"authorization": "Bearer k", "anthropic-version": "2023-06-01"}
    async with httpx2.AsyncClient(transport=Server(WINDOW), base_url="http://rehearsal") as client:
        answer = await client.post(path, content=json.dumps(request).encode(), headers=keys | headers)
    return answer.status_code, answer.json()["error"]["message"] if answer.status_code != 200 else ""


def asked(*parts: Any) -> list[Message]:
    ask = Message(role="user", parts=(Text(text="Go round until 3"),))
    return [ask, Message(role="assistant", parts=(*parts, Text(text="ok"))), ask]


def made(dialect: str, block: dict[str, Any]) -> Compaction:
    spec = SPECS[dialect]
    return Compaction(opaque=Opaque(vendor=spec.vendor, model=spec.id, kind="compaction", data=json.dumps(block)))


SEALED = anthropic_compaction.sealed("[Summary of the conversation so far]").model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("changes", "headers", "message"),
    [
        ({}, {}, "context_management: Extra inputs are not permitted"),
        ({"context_management": None}, {}, "messages.1.content.0: Input tag 'compaction' found using 'type' does not"),
        (
            {"context_management": edits(49_999)},
            BETA,
            "context_management.edits.0.trigger.value: Input should be greater than or equal to 50000",
        ),
        (
            {"context_management": {"edits": [{"type": "compact"}]}},
            BETA,
            "context_management.edits.0.type: Input should be 'compact_20260112'",
        ),
    ],
)
async def test_compaction_of_claude_needs_its_beta_and_the_right_shape(
    changes: dict[str, Any], headers: dict[str, str], message: str
) -> None:
    request = body("anthropic_messages", asked(made("anthropic_messages", SEALED))) | changes

    status, told = await post("anthropic_messages", request, headers)

    assert (status, told[: len(message)]) == (400, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"content": "Another summary"}, "The `compaction` block's `content` differs from the text its `signature`"),
        ({"signature": "bm9uZQ=="}, "The `compaction` block's `signature` does not verify."),
        ({"encrypted_content": "x"}, "The `compaction` block's `signature` does not verify."),
        ({"content": ""}, "String should have at least 1 character"),
        ({"content": None}, ""),
    ],
)
async def test_a_block_that_was_altered_is_refused(changes: dict[str, Any], message: str) -> None:
    request = body("anthropic_messages", asked(made("anthropic_messages", SEALED | changes)))

    status, told = await post("anthropic_messages", request, BETA)

    assert (status, message in told) == (400 if message else 200, True)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"type": "compaction"}, "Missing required parameter: 'context_management[0].compact_threshold'."),
        (
            {"type": "compaction", "compact_threshold": 999},
            "Invalid 'context_management[0].compact_threshold': integer",
        ),
        ({"type": "other", "compact_threshold": 2_000}, "Invalid value: 'other'. Supported values are: 'compaction'."),
    ],
)
async def test_compaction_of_openai_needs_the_right_shape(entry: dict[str, Any], message: str) -> None:
    request = body("openai_responses", asked()) | {"context_management": [entry]}

    status, told = await post("openai_responses", request, {})

    assert (status, told[: len(message)]) == (400, message)


@pytest.mark.parametrize("changes", [{"encrypted_content": "gAAAAABother"}, {"id": "cmp_of_another"}])
async def test_an_item_that_was_altered_is_refused(changes: dict[str, Any]) -> None:
    item = sealed("cmp_1", "so far").model_dump()
    assert summary_of(sealed("cmp_1", "so far")) == "so far"

    good, _ = await post("openai_responses", body("openai_responses", asked(made("openai_responses", item))), {})
    bad, told = await post(
        "openai_responses", body("openai_responses", asked(made("openai_responses", item | changes))), {}
    )

    assert (good, bad) == (200, 400)
    assert "could not be verified. Reason: Encrypted content could not be decrypted or parsed." in told
