"""Model vendors. Each dialect is two pure functions and a client:

    build_request(transcript, tools, settings) -> dict     what goes on the wire
    normalize(events, turn) -> chunks                      what came back; fills the turn
    <Dialect>Client.stream(...)                            joins them over the vendor's own SDK

`border.py` stands before them all and holds what is true of every answer.

An SDK takes a second or two to import, so a client is imported only when a session first uses it.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from drafthand.model import ModelClient
from drafthand.vendors.access import Access
from drafthand.vendors.border import Guarded

if TYPE_CHECKING:
    import httpx2

DIALECTS = {
    "anthropic_messages": "AnthropicMessagesClient",
    "openai_responses": "OpenAIResponsesClient",
    "gemini": "GeminiClient",
    "chat_completions": "ChatCompletionsClient",
}


def client_of(dialect: str, access: Access, http_client: httpx2.AsyncClient | None = None) -> ModelClient:
    """The client of a dialect, behind the border. Imports its SDK (1 to 2 s the first time)."""
    module = import_module(f"drafthand.vendors.{dialect}")
    access = replace(access, api_key=access.api_key.strip())  # a line break behind it came from a file
    return Guarded(getattr(module, DIALECTS[dialect])(access, http_client), access.api_key)
