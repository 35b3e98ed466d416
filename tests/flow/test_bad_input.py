"""Whatever is sent that can't be taken: a clear problem document or a normal tool result, and nothing lost."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.flow.served import Served, kinds, wait_until

REQUEST = {"message": "What is in this model?", "model": "rehearsal"}


def post(served: Served, body: Any) -> httpx2.Response:
    return served.http.post("/runs", content=body if isinstance(body, bytes) else json.dumps(body))


@pytest.mark.parametrize(
    ("body", "status", "field", "told"),
    [
        pytest.param(REQUEST | {"model": "gpt-nope"}, 422, "model", "Offered: rehearsal", id="unknown model"),
        pytest.param(REQUEST | {"session_id": "ses_none"}, 404, None, "ses_none", id="unknown session"),
        pytest.param(REQUEST | {"host_id": "host_none"}, 404, None, "host_none", id="unknown host"),
        pytest.param(REQUEST | {"message": ""}, 422, "message", "Say what you want", id="empty message"),
        pytest.param(REQUEST | {"message": " \n"}, 422, "message", "Say what you want", id="blank message"),
        pytest.param(REQUEST | {"message": "x" * 500_000}, 422, "message", "100000", id="long message"),
        pytest.param(REQUEST | {"message": "x" * 1_048_576}, 413, "message", "1,000,000 bytes", id="1 MB message"),
        pytest.param({"model": "rehearsal"}, 422, "message", "required", id="no message"),
        pytest.param(REQUEST | {"mode": "yolo"}, 422, "mode", "read_only", id="unknown mode"),
        pytest.param(REQUEST | {"colour": "red"}, 422, "colour", "not permitted", id="unknown field"),
        pytest.param(b'{"message": "half', 400, "body", "not valid JSON", id="broken JSON"),
        pytest.param(b"[]", 422, "body", "dictionary", id="not an object"),
        pytest.param(b"\xff\xfe", 400, "body", "not valid JSON", id="not text"),
    ],
)
def test_a_request_that_cannot_be_taken_is_told_why(
    served: Served, body: Any, status: int, field: str | None, told: str
) -> None:
    sessions = served.api.get("/sessions")

    answer = post(served, body)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem.get("field") == field
    assert told in problem["detail"]
    assert served.api.get("/sessions") == sessions, "a refused request leaves nothing behind"


@pytest.mark.parametrize("name", ["00", "x" * 3000])
@pytest.mark.parametrize("path", ["/runs/{}/events", "/sessions/{}", "/scripts/{}", "/results/{}", "/nowhere/{}"])
def test_what_is_not_there_is_a_problem_document(served: Served, path: str, name: str) -> None:
    answer = served.http.get(path.format(name))

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("offset", ["-1", "1e3", "9" * 5000])
def test_a_range_that_is_no_number_is_told_why(served: Served, offset: str) -> None:
    chunks = served.run("What is in this model?")
    url = kinds(chunks, "tool_result")[0]["output_url"].removeprefix("/api")

    answer = served.http.get(url, params={"offset": offset})

    assert answer.status_code == 400
    assert answer.json()["field"] == "offset"


@pytest.mark.parametrize("token", [None, "Bearer wrong", "Basic YTpi", "Bearer"])
def test_nobody_gets_in_without_the_token(served: Served, token: str | None) -> None:
    headers = {} if token is None else {"Authorization": token}
    bare = httpx2.Client(base_url=served.http.base_url, headers=headers)

    for method, path in [("GET", "/models"), ("POST", "/runs"), ("GET", "/hosts"), ("GET", "/sessions"),
                         ("POST", "/runs/run_1/cancel"), ("POST", "/hosts/poll"), ("POST", "/hosts/uploads"),
                         ("POST", "/runs/run_1/calls/call_1/result")]:  # fmt: skip
        answer = bare.request(method, path, content=b"{}")
        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json"), path


def test_a_user_token_is_no_host_token(served: Served) -> None:
    assert served.http.post("/hosts/poll", json={}).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": "http://evil.example"}, id="another site's page"),
        pytest.param({"Origin": "null"}, id="a sandboxed page"),
        pytest.param({"Host": "evil.example"}, id="a name that resolves to loopback"),
    ],
)
def test_another_sites_page_cannot_drive_the_server(served: Served, headers: dict[str, str]) -> None:
    assert served.http.get("/models", headers=headers).status_code == 403
    assert served.http.post("/runs", headers=headers, json=REQUEST).status_code == 403


def test_the_server_listens_on_loopback_only(served: Served) -> None:
    ports = [int(served.address.url.rsplit(":", 1)[1])]
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {
        int(local.split(":")[1], 16): local.split(":")[0] for _, local, _, state, *_ in listening if state == "0A"
    }

    assert [addresses[port] for port in ports] == ["0100007F"]


def test_a_message_while_the_session_works_is_refused_with_the_active_run(served: Served) -> None:
    chunks = served.api.run("What is in this model?", model="rehearsal")
    started = next(chunks)["metadata"]

    answer = post(served, REQUEST | {"session_id": started["session_id"]})
    rest = list(chunks)

    assert (answer.status_code, answer.json()["active_run"]) == (409, started["run_id"])
    assert rest[-1]["type"] == "Complete"


def test_no_host_online_is_a_normal_tool_result(hostless: Served) -> None:
    chunks = hostless.run("What is in this model?")

    (result,) = kinds(chunks, "tool_result")
    assert (result["ok"], result["outcome"]) == (False, "refused")
    assert "No host is online" in result["summary"]
    assert chunks[-1]["type"] == "Complete"


def test_a_file_that_is_no_ifc_is_told_and_the_server_stays_up(hostless: Served) -> None:
    wait_until(lambda: "notes.ifc" in hostless.log("host"), hostless.process, float("inf"))

    assert "IFC" in hostless.log("host")
    assert hostless.api.get("/hosts")["hosts"][0]["online"] is False
