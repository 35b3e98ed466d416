"""The six lines of docs/models.md make a model: read from the document, through the settings, to a turn of a server."""

import json
import re
from pathlib import Path

import httpx2
from drafthand.model import TurnSettings
from drafthand.services import Services
from drafthand.settings import Settings
from drafthand.tools import COLLECT, TOOLS
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors import client_of

from local.rehearsal.server import create_app
from tests.paths import ROOT

ENVIRONMENT = {"DRAFTHAND_TABLE": "table", "DRAFTHAND_BUCKET": "bucket"}


class TheirServer(httpx2.AsyncBaseTransport):
    """A chat completions server that knows the model by the name it is asked for: ours, for one request."""

    def __init__(self) -> None:
        self.rehearsal = httpx2.ASGITransport(app=create_app())
        self.asked: list[tuple[str, str, str | None]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.asked.append((str(request.url), body["model"], request.headers.get("authorization")))
        renamed = httpx2.Request(
            "POST", request.url, json=body | {"model": "rehearsal"}, headers={"authorization": "Bearer x"}
        )
        return await self.rehearsal.handle_async_request(renamed)


def documented() -> str:
    """The example of the document."""
    text = (ROOT / "docs" / "models.md").read_text()
    found = re.search(r"Six lines make a model:\n\n```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def configured(tmp_path: Path, **keys: str) -> Services:
    own = tmp_path / "models.toml"
    own.write_text(documented())
    settings = Settings.from_env(ENVIRONMENT | {"DRAFTHAND_MODELS": str(own)} | keys)
    return Services(settings, None)  # type: ignore[arg-type] - no turn asks the store


async def test_six_lines_of_the_document_make_a_model_that_works(tmp_path: Path) -> None:
    services = configured(tmp_path, OURS_API_KEY="sesame")
    assert len(documented().splitlines()) == 6
    (spec,) = services.available().values()
    access = services.access(spec)
    assert access is not None
    server = TheirServer()
    turn = Turn(vendor=spec.vendor, model=spec.id)

    async with httpx2.AsyncClient(transport=server) as http_client:
        client = client_of(spec.dialect, access, http_client)
        transcript = [Message(role="user", parts=(Text(text="What is in this model?"),))]
        async for _ in client.stream(transcript, TOOLS, TurnSettings(spec, "system", spec.heavy), turn):
            pass

    assert server.asked == [("http://10.0.0.5:8000/v1/chat/completions", "qwen-on-our-server", "Bearer sesame")]
    assert (turn.stop, [call.name for call in turn.tool_calls]) == ("tool_calls", [COLLECT])
    assert turn.tool_calls[0].input is not None
    assert "no language model" in turn.text


def test_it_is_offered_without_a_key_since_it_names_its_server(tmp_path: Path) -> None:
    services = configured(tmp_path)

    (spec,) = services.available().values()

    assert (spec.id, spec.label, spec.context) == ("qwen-on-our-server", "Qwen on our server", 131_072)
