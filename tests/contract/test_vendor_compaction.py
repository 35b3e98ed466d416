"""A vendor that shortens a conversation by itself: what it makes comes back to it whole, and nothing open is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from drafthand import compaction
from drafthand.chunks import Usage
from drafthand.model import ModelSpec, TurnSettings
from drafthand.store import Store
from drafthand.tools import AUTOMATE, TOOLS
from drafthand.transcript import Compaction, Kept, Message, Opaque, Summary, Text, ToolCall
from drafthand.vendors import anthropic_messages_request, openai_responses_request
from drafthand.vendors.models import models
from drafthand.vendors.pairing import BEGINNING
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests import stores
from tests.contract.test_compaction import SPECS, TALK, Execution, Rounds, Server, Talk, results, sized
from tests.paths import shared
from tests.recordings import Player, player, read

WINDOW = 90_000
"""The vendor's trigger is 50,000 tokens at least; the model's room in this window is 59,200."""
RESULT_CHARS = 20_000
BUILD = {
    "anthropic_messages": anthropic_messages_request.build_request,
    "openai_responses": openai_responses_request.build_request,
}
SPOKEN = {"anthropic_messages": "messages", "openai_responses": "input"}
HELD = "print('held, first line')\nprint('held, second line')\n"

by_dialect = pytest.mark.parametrize("dialect", BUILD)


@pytest.fixture(scope="module")
def store(ministack_url: str) -> Store:
    return stores.fresh_store(ministack_url)


def vendors(dialect: str, **changes: Any) -> ModelSpec:
    return sized(dialect, WINDOW, compaction="vendor", **changes)


class Automations(Rounds):
    """The third round is told to have been an automation, which committed."""

    def __init__(self, talk: Talk, last: int) -> None:
        super().__init__(last, RESULT_CHARS)
        self.talk = talk

    def execute(self, call: ToolCall) -> Execution:
        execution = super().execute(call)
        if self.number == 3:
            session = self.talk.conversation.session
            sha256 = self.talk.store.scripts.put(session.owner, HELD)
            self.talk.conversation.stage(
                script_sha256=sha256, progress=session.progress.before_call(AUTOMATE, runs_script=True)
            )
        return execution


async def run(store: Store, dialect: str, rounds: int) -> tuple[Talk, Server, str]:
    talk, server = await Talk.begin(store), Server(WINDOW)
    said = await talk.ask(vendors(dialect), server, TALK.format(last=rounds), Automations(talk, rounds))
    return talk, server, said


def parts_of(messages: list[Message], kind: type[Any]) -> list[Any]:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


def holds(body: bytes) -> tuple[bool, bool, bool]:
    """Whether a request has the beginning of the conversation, what was kept of it, the vendor's compaction."""
    own = re.search(rb'"type":"compaction","(content|id)":', body)
    return b"round 5\\n" in body, b"Kept word for word" in body, own is not None


# -- a long run -------------------------------------------------------------------------------------------------------


@by_dialect
async def test_sixty_turns_go_through_a_small_window_by_the_vendors_own_compaction(store: Store, dialect: str) -> None:
    talk, server, said = await run(store, dialect, 59)

    stored = talk.stored()
    compactions = parts_of(stored, Compaction)
    assert said == "All 59 rounds are done."
    assert server.refused == []
    assert len(server.bodies) == 60, "no request of ours for a summary"
    assert parts_of(stored, Summary) == []
    assert len(talk.markers) == len(compactions) >= 4
    assert all(before > 59_200 > 20_000 > after for before, after in talk.markers)
    assert results(stored) == [f"round {number}" for number in range(1, 59)] + ["last round 59"]


@by_dialect
async def test_what_must_survive_follows_each_compaction_once_and_word_for_word(store: Store, dialect: str) -> None:
    talk, server, _ = await run(store, dialect, 30)

    stored = talk.stored()
    kept = parts_of(stored, Kept)
    assert len(kept) == len(talk.markers) >= 2
    for part in kept:
        assert "The request being worked on:\nGo round until 30\n" in part.text
        assert "1 | print('held, first line')\n2 | print('held, second line')" in part.text
        assert "Used for this request: " in part.text
    for index, message in enumerate(stored):
        if parts_of([message], Compaction):
            assert [each.role for each in stored[index : index + 3]] == ["assistant", "tool", "user"]
            assert parts_of([stored[index + 2]], Kept)
    last = json.dumps(json.loads(server.bodies[-1])[SPOKEN[dialect]])
    assert last.count("Kept word for word") == 1


@by_dialect
async def test_a_compaction_goes_back_as_it_came_and_nothing_before_it(store: Store, dialect: str) -> None:
    talk, server, _ = await run(store, dialect, 30)

    (*_, newest) = parts_of(talk.stored(), Compaction)
    last = json.loads(server.bodies[-1])[SPOKEN[dialect]]
    assert BEGINNING in json.dumps(last[0]), "a person speaks first, and that is all that stands before it"
    first = last[1]["content"][0] if dialect == "anthropic_messages" else last[1]
    first.pop("cache_control", None)
    assert first == json.loads(newest.opaque.data)
    assert first["type"] == "compaction"
    assert json.dumps(last).count('"compaction"') == 1


# -- another model ----------------------------------------------------------------------------------------------------


@by_dialect
@pytest.mark.parametrize("other", SPECS)
async def test_another_model_takes_over_and_hands_back(store: Store, dialect: str, other: str) -> None:
    """The other is one of another vendor's, or the same under another name: neither can read the compaction."""
    talk, _, _ = await run(store, dialect, 14)
    assert len(talk.markers) == 1
    own = vendors(dialect)
    another = sized(other, 200_000, id="another", name="rehearsal", vendor="another")

    theirs, back = Server(200_000), Server(WINDOW)
    said = await talk.ask(another, theirs, TALK.format(last=2), Rounds(2, 100))
    again = await talk.ask(own, back, TALK.format(last=3), Rounds(3, 100))

    assert (said, again) == ("All 2 rounds are done.", "All 3 rounds are done.")
    assert theirs.refused == back.refused == []
    assert holds(theirs.bodies[0]) == (True, False, False)
    assert holds(back.bodies[0]) == (False, True, True)


@by_dialect
async def test_another_model_with_a_small_window_sums_up_and_the_first_goes_on_from_that(
    store: Store, dialect: str
) -> None:
    talk, _, _ = await run(store, dialect, 14)
    small, back = Server(40_000), Server(WINDOW)

    said = await talk.ask(sized("gemini", 40_000), small, TALK.format(last=2), Rounds(2, 100))
    again = await talk.ask(vendors(dialect), back, TALK.format(last=3), Rounds(3, 100))

    assert (said, again) == ("All 2 rounds are done.", "All 3 rounds are done.")
    assert len(small.refused) == 1, "all of it was too long to be summed up whole"
    assert back.refused == []
    assert holds(back.bodies[0]) == (False, False, False)
    assert b"Summary of the conversation so far" in back.bodies[0]


@by_dialect
async def test_a_request_that_outgrows_the_window_all_the_same_is_shortened_by_us(store: Store, dialect: str) -> None:
    talk, server = await Talk.begin(store), Server(30_000)

    said = await talk.ask(vendors(dialect), server, TALK.format(last=6), Rounds(6, RESULT_CHARS))

    assert said == "All 6 rounds are done."
    assert len(parts_of(talk.stored(), Summary)) >= 1
    assert parts_of(talk.stored(), Compaction) == []


@by_dialect
async def test_what_follows_a_compaction_is_shortened_by_us_where_the_vendor_finds_it_too_long(
    store: Store, dialect: str
) -> None:
    talk, _, _ = await run(store, dialect, 14)
    server = Server(22_000 if dialect == "anthropic_messages" else 10_000)  # one counts the answer's budget, too

    said = await talk.ask(vendors(dialect, heavy=12_000), server, TALK.format(last=3), Rounds(3, 100))

    (summary,) = parts_of(talk.stored(), Summary)
    assert said == "All 3 rounds are done."
    assert summary.request == "Go round until 3"
    assert len(server.refused) >= 1
    assert holds(server.bodies[0])[2]
    assert not holds(server.bodies[-1])[2]


@given(st.lists(st.sampled_from(["own", "foreign", "summary", "round", "kept"]), max_size=12))
def test_a_request_holds_one_beginning_and_nothing_that_only_another_model_can_read(steps: list[str]) -> None:
    own = vendors("anthropic_messages")
    messages = [step_of(step, number) for number, step in enumerate(steps)]

    sent = compaction.effective(messages, own)

    begun = [number for number, step in enumerate(steps) if step in ("own", "summary")]
    start = begun[-1] if begun else 0
    compacted = bool(begun) and steps[start] == "own"
    gone = {"foreign"} if compacted else {"foreign", "kept"}
    expected = [number for number in range(start, len(steps)) if steps[number] not in gone]
    assert [part.text for message in sent for part in message.parts if isinstance(part, Text)] == [
        str(number) for number in expected if steps[number] != "own"
    ]
    assert [part.opaque.data for part in parts_of(sent, Compaction)] == ([str(start)] if compacted else [])


def step_of(step: str, number: int) -> Message:
    text, model = str(number), {"own": SPECS["anthropic_messages"].id}.get(step, "another")
    opaque = Opaque(vendor="rehearsal", model=model, kind="compaction", data=text)
    parts: dict[str, Any] = {
        "own": Compaction(opaque=opaque),
        "foreign": Compaction(opaque=opaque),
        "summary": Summary(text=text, request="", report=None, lean=False),
        "kept": Kept(text=text),
        "round": Text(text=text),
    }
    return Message(role="user", parts=(parts[step],))


# -- on the wire ------------------------------------------------------------------------------------------------------


def test_a_model_that_is_shortened_here_asks_nothing_of_its_vendor() -> None:
    for dialect, build in BUILD.items():
        request = build([], TOOLS, TurnSettings(SPECS[dialect], "s", 100))
        assert not {"betas", "context_management"} & set(request)


def test_the_models_that_compact_by_themselves_say_so_with_their_room() -> None:
    asked = {}
    for spec in models().values():
        if spec.compaction == "vendor":
            request = BUILD[spec.dialect]([], TOOLS, TurnSettings(spec, "s", 100))
            asked[spec.id] = (request.get("betas"), request["context_management"])

    betas = ["compact-2026-01-12", "context-management-2025-06-27"]
    assert asked == {
        "claude-opus-5-5": (betas, edits(134_400)),
        "claude-sonnet-5-5": (betas, edits(134_400)),
        "claude-opus-4-7": (betas, edits(774_400)),
        "gpt-6.2-astra": (None, [{"type": "compaction", "compact_threshold": 76_800}]),
    }


def edits(tokens: int) -> dict[str, Any]:
    return {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": tokens}}]}


def test_a_dialect_without_compaction_can_not_be_told_to_leave_it_to_the_vendor() -> None:
    with pytest.raises(ValidationError, match="compaction: vendor is for the dialects"):
        ModelSpec(id="m", label="m", vendor="v", dialect="gemini", compaction="vendor")


@pytest.mark.parametrize(
    ("name", "besides", "context"),
    [
        ("005", Usage(), 38),
        ("030", Usage(input_uncached=100, cache_read=55_096, output=83), 189),
        ("065", Usage(input_uncached=60_385, output=522), 3_431),
    ],
)
async def test_a_recorded_compaction_of_claude_is_kept_and_paid_for(name: str, besides: Usage, context: int) -> None:
    recording = read("anthropic_messages", shared("corpus", "anthropic_messages", f"{name}.json"))

    beta = Player("anthropic_messages")
    beta.spec = beta.spec.model_copy(update={"compaction": "vendor"})

    turn = (await beta.play(recording.body, recording.status)).turn

    (part,) = [part for part in turn.parts if isinstance(part, Compaction)]
    assert turn.parts[0] is part
    block = json.loads(part.opaque.data)
    assert json.dumps(block["content"]).encode() in recording.body or block["content"].encode() in recording.body
    encrypted = {"encrypted_content": "EpwBCioIDxgCEAEYASJALd_opaque_compaction_payload"} if name == "005" else {}
    assert block == {"type": "compaction", "content": block["content"]} | encrypted
    assert turn.usage.total == context + besides.total
    assert turn.context_tokens == context


async def test_a_recorded_compaction_of_openai_is_kept_at_its_place() -> None:
    recording = read("openai_responses", shared("corpus", "openai_responses", "035.json"))

    turn = (await player("openai_responses").play(recording.body, recording.status)).turn

    assert [part.type for part in turn.parts] == ["text", "compaction"]
    (part,) = [part for part in turn.parts if isinstance(part, Compaction)]
    item = json.loads(part.opaque.data)
    assert set(item) == {"type", "id", "encrypted_content"}
    done = [line for line in recording.body.splitlines() if b"output_item.done" in line and b"cmp_" in line]
    assert item["encrypted_content"].encode() in done[0]
