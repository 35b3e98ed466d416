"""An answer that came after its wait had ended, as the model is told of it."""

from __future__ import annotations

from drafthand import answers
from drafthand.capabilities import CAPABILITIES
from drafthand.commands import HostResult
from drafthand.rendezvous import Call
from drafthand.results import for_model
from drafthand.store import Store


def late_text(store: Store, call: Call, result: HostResult) -> str:
    capability = CAPABILITIES[store.hosts.get(call.owner, call.host_id).application["name"]]
    answer = answers.fetch(store, call.owner, result)
    text = for_model(answer.result, answer.stdout, answer.report, None, capability)
    return f"[The result of call {call.id} came after its wait had ended:\n{text}]"
