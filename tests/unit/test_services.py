"""How a vendor is reached: with its own key, at its own address, and with nothing else of the environment."""

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.services import BadSetting, Services
from drafthand.settings import Settings
from drafthand.transcript import Message, Text, Turn

ENVIRONMENT = {
    "ANTHROPIC_AUTH_TOKEN": "hush",
    "ANTHROPIC_BASE_URL": "http://hush.invalid",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Own: hush",
    "OPENAI_ADMIN_KEY": "hush",
    "OPENAI_BASE_URL": "http://hush.invalid/v1",
    "OPENAI_CUSTOM_HEADERS": "X-Own: hush",
    "OPENAI_ORG_ID": "hush",
    "OPENAI_PROJECT_ID": "hush",
    "GOOGLE_API_KEY": "hush",
    "GOOGLE_CLOUD_PROJECT": "hush",
    "GOOGLE_GEMINI_BASE_URL": "http://hush.invalid",
    "GOOGLE_GENAI_API_VERSION": "hush",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
}
VENDORS = {
    "anthropic_messages": ("anthropic", "https://api.anthropic.com/v1/messages"),
    "openai_responses": ("openai", "https://api.openai.com/v1/responses"),
    "chat_completions": ("openai", "https://api.openai.com/v1/chat/completions"),
    "gemini": ("gemini", "https://generativelanguage.googleapis.com/v1/models/m:streamGenerateContent?alt=sse"),
}


def configured(**settings: object) -> Services:
    store = None  # no turn asks it
    return Services(Settings(table="t", bucket="b", **settings), store)  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [False, True], ids=["the vendor's address", "a server of one's own"])
@pytest.mark.parametrize("dialect", VENDORS)
async def test_nothing_of_the_environment_is_in_a_request(
    monkeypatch: pytest.MonkeyPatch, dialect: str, own: bool
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    asked: list[httpx2.Request] = []

    async def answer(transport: object, request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(401, json={"error": {"message": "no", "type": "authentication_error"}})

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", answer)
    vendor, address = VENDORS[dialect]
    spec = ModelSpec(id="m", label="M", vendor="ours" if own else vendor, dialect=dialect)
    spec = spec.model_copy(update={"base_url": "http://ours.invalid/v1"} if own else {})
    settings = TurnSettings(spec, "", 100)
    client = configured(keys={spec.vendor: "sesame"}).client(spec)

    with pytest.raises(VendorError, match="_API_KEY"):
        async for _ in client.stream([Message(role="user", parts=(Text(text="q"),))], [], settings, Turn("v", "m")):
            pass

    (request,) = asked
    assert "hush" not in f"{request.url} {request.headers.raw}"
    assert str(request.url).startswith("http://ours.invalid/v1/") if own else str(request.url) == address
    assert "sesame" in str(request.headers.raw)


def test_an_address_of_a_server_that_can_be_none_is_told() -> None:
    with pytest.raises(BadSetting, match="CHAT_BASE_URL is 'localhost:8000'; write an http or https URL"):
        configured(chat_base_url="localhost:8000")
