"""The tools as each vendor is told of them, on the wire. After a change that is meant, write the files anew:

DRAFTHAND_GOLDEN=write python -m pytest tests/contract/test_golden_tools.py
"""

import json
import os
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Turn
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access

from tests.paths import ROOT
from tests.recordings import ADDRESS, ASKED

FOLDER = ROOT / "tests" / "golden"
REFRESH = "the declarations changed; if that is meant: DRAFTHAND_GOLDEN=write python -m pytest {file}"


async def declared(dialect: str) -> Any:
    """The tools of a request's body, as the real SDK sends it."""
    bodies: list[bytes] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(400, json={"error": {"code": 400, "message": "not now", "status": "INVALID_ARGUMENT"}})

    spec = ModelSpec(id="m", label="M", vendor="v", dialect=dialect)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(refuse)) as http_client:
        client = client_of(dialect, Access("key", ADDRESS), http_client)
        with pytest.raises(VendorError):
            async for _ in client.stream(ASKED, TOOLS, TurnSettings(spec, "system", 1000), Turn("v", "m")):
                pass
    return json.loads(bodies[0])["tools"]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_tools_are_declared_as_they_were(dialect: str) -> None:
    golden = FOLDER / f"tools.{dialect}.json"
    text = json.dumps(await declared(dialect), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("DRAFTHAND_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)

    assert golden.read_text() == text, REFRESH.format(file="tests/contract/test_golden_tools.py")
