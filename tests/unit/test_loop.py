"""The loop over written fakes: what is asked of the model and the hand, and in which order."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.loop import TURNS_BEYOND, RunFailed, run_agentic_loop
from drafthand.session import Limits, Progress, Session
from drafthand.transcript import Message, Text, ToolCall, ToolResult, Turn

Answer = tuple[str, list[str], str]


class WrittenModel:
    """Answers what was written down: (text, ids of calls, stop)."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def cost_usd(self, usage: Usage) -> float | None:
        return 0.25

    def new_turn(self) -> Turn:
        return Turn(vendor="v", model="m")

    async def stream_turn(self, turn: Turn) -> AsyncIterator[StreamChunk]:
        text, calls, stop = self.answers.pop(0)
        yield StreamChunk(type=ChunkType.MESSAGE, content=text)
        turn.parts += [Text(text=text)]
        turn.parts += [ToolCall(id=call, name="execute_data_collection", input={}, raw="") for call in calls]
        turn.close(stop, Usage(output=10))


class WrittenExecution:
    def __init__(self, call: ToolCall, executed: list[str]) -> None:
        self.call, self.executed = call, executed
        self.result: Any = None

    async def __aiter__(self) -> AsyncIterator[StreamChunk]:
        self.executed.append(self.call.id)
        yield StreamChunk(type=ChunkType.METADATA, content=self.call.id, metadata={"kind": "tool_result"})
        self.result = ToolResult(call_id=self.call.id, ok=True, text="fine")


class WrittenHand:
    def __init__(self) -> None:
        self.executed: list[str] = []

    def execute(self, call: ToolCall) -> WrittenExecution:
        return WrittenExecution(call, self.executed)


class WrittenTranscript:
    def __init__(self) -> None:
        facts = {"title": "t", "model": "m", "host_id": None, "created_at": 0, "updated_at": 0}
        self.session = Session(id="s", owner="o", limits=Limits(turns=3), **facts)
        self.messages = [Message(role="user", parts=(Text(text="go"),))]
        self.said: list[str] = []

    async def hear(self) -> list[StreamChunk]:
        heard = [Message(role="user", parts=(Text(text=text),)) for text in self.said]
        self.messages += heard
        self.said = []
        return [StreamChunk(type=ChunkType.METADATA, content=message.text) for message in heard]

    async def append(self, message: Message, **changes: Any) -> None:
        self.messages.append(message)
        self.session = self.session.model_copy(update=changes)


async def play(*answers: Answer) -> tuple[list[StreamChunk], WrittenTranscript, WrittenHand]:
    transcript, hand = WrittenTranscript(), WrittenHand()
    chunks = [chunk async for chunk in run_agentic_loop(transcript, WrittenModel(*answers), hand)]
    return chunks, transcript, hand


async def test_a_turn_without_calls_completes_the_run() -> None:
    chunks, transcript, _ = await play(("Nothing to do.", [], "end"))

    assert [chunk.type for chunk in chunks] == ["Message", "Complete"]
    assert chunks[-1].content == "Nothing to do."
    assert [message.role for message in transcript.messages] == ["user", "assistant"]


async def test_calls_are_executed_one_by_one_and_their_results_are_appended_together() -> None:
    chunks, transcript, hand = await play(("Looking.", ["call_1", "call_2"], "tool_calls"), ("Done.", [], "end"))

    assert hand.executed == ["call_1", "call_2"]
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert [part.call_id for part in transcript.messages[2].parts] == ["call_1", "call_2"]  # type: ignore[union-attr]
    assert chunks[-1].metadata["usage"]["output"] == 20
    assert chunks[-1].metadata["usage"]["cost_usd"] == 0.25
    assert chunks[-1].metadata["counters"]["turns"] == 2


async def test_a_paused_turn_is_sent_again_as_it_is() -> None:
    chunks, transcript, _ = await play(("half", [], "paused"), ("whole", [], "end"))

    assert chunks[-1].content == "whole"
    assert len(transcript.messages) == 3


@pytest.mark.parametrize("stop", ["refusal", "context_full"])
async def test_an_answer_that_is_none_ends_the_run_and_is_not_kept(stop: str) -> None:
    transcript = WrittenTranscript()

    with pytest.raises(RunFailed):
        async for _ in run_agentic_loop(transcript, WrittenModel(("no", ["call_1"], stop)), WrittenHand()):
            pass

    assert [message.role for message in transcript.messages] == ["user"]


async def test_a_run_whose_model_calls_on_after_a_limit_ends_in_our_words() -> None:
    transcript, hand = WrittenTranscript(), WrittenHand()
    transcript.session = transcript.session.model_copy(update={"progress": Progress().at_limit("fix")})
    model = WrittenModel(*[("again", ["call_1"], "tool_calls")] * 100)

    chunks = [chunk async for chunk in run_agentic_loop(transcript, model, hand)]

    assert len(hand.executed) == TURNS_BEYOND
    assert (chunks[-1].type, chunks[-1].metadata["limit"]) == ("Complete", "fix")
    assert "The limit of fix was reached, and the model did not sum up" in chunks[-1].content


async def test_an_answer_of_nothing_but_spent_room_is_no_end() -> None:
    with pytest.raises(RunFailed, match="used up its room"):
        async for _ in run_agentic_loop(WrittenTranscript(), WrittenModel(("", [], "max_tokens")), WrittenHand()):
            pass


async def test_what_is_said_meanwhile_is_heard_before_the_run_ends() -> None:
    transcript = WrittenTranscript()
    transcript.said = ["and the windows"]
    model = WrittenModel(("Doors done.", [], "end"), ("Windows done.", [], "end"))

    chunks = []
    async for chunk in run_agentic_loop(transcript, model, WrittenHand()):
        chunks.append(chunk)
        if chunk.content == "Doors done.":
            transcript.said = ["and the roof"]

    assert [message.text for message in transcript.messages] == [
        "go",
        "and the windows",
        "Doors done.",
        "and the roof",
        "Windows done.",
    ]
    assert chunks[-1].content == "Windows done."


async def test_a_run_goes_on_from_calls_that_nobody_has_answered() -> None:
    transcript, hand = WrittenTranscript(), WrittenHand()
    call = ToolCall(id="call_9", name="execute_data_collection", input={}, raw="")
    transcript.messages.append(Message(role="assistant", parts=(call,), model="m"))

    chunks = [chunk async for chunk in run_agentic_loop(transcript, WrittenModel(("Done.", [], "end")), hand)]

    assert hand.executed == ["call_9"]
    assert chunks[-1].content == "Done."


async def test_a_run_that_only_lacks_its_end_gets_it_without_asking_the_model() -> None:
    transcript = WrittenTranscript()
    transcript.messages.append(Message(role="assistant", parts=(Text(text="All done."),), model="m", stop="end"))

    (end,) = [chunk async for chunk in run_agentic_loop(transcript, WrittenModel(), WrittenHand())]

    assert (end.type, end.content) == ("Complete", "All done.")
