"""Model vendors. Each dialect is two pure functions and a client:

    build_request(transcript, tools, settings) -> dict     what goes on the wire
    normalize(events, turn) -> chunks                      what came back; fills the turn
    <Dialect>Client.stream(...)                            joins them over the vendor's own SDK

An SDK takes a second or two to import, so a client is imported only when a session first uses it.
"""

from __future__ import annotations

from drafthand.model import ModelClient, ModelSpec
from drafthand.vendors.access import Access


def client_for(model: ModelSpec, access: Access) -> ModelClient:
    """The client of the model's dialect. Imports its SDK (1 to 2 s the first time)."""
    if model.dialect == "anthropic_messages":
        from drafthand.vendors.anthropic_messages import AnthropicMessagesClient

        return AnthropicMessagesClient(access)
    raise ValueError(f"models.toml: {model.id} names the dialect {model.dialect!r}, which there is none of")
