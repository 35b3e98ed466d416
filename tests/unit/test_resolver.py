"""The resolver of the two plain functions, where one process serves several requests at once."""

import json
import threading
from typing import Any

from drafthand.resolver import body, json_response, make_resolver
from pydantic import BaseModel


class Said(BaseModel):
    word: str


def event(path: str, word: str) -> dict[str, Any]:
    http = {"method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": ""}
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {},
        "requestContext": {"http": http, "stage": "$default"},
        "isBase64Encoded": False,
        "body": json.dumps({"word": word}),
    }


def test_requests_at_the_same_time_read_their_own_bodies() -> None:
    app, both_are_in = make_resolver(), threading.Barrier(2)

    @app.post("/say")
    def say() -> Any:
        both_are_in.wait(timeout=10)
        return json_response(200, body(app, Said).model_dump())

    answers: dict[str, Any] = {}

    def ask(word: str) -> None:
        answers[word] = json.loads(app.resolve(event("/say", word), None)["body"])["word"]

    asking = [threading.Thread(target=ask, args=(word,)) for word in ("one", "two")]
    for each in asking:
        each.start()
    for each in asking:
        each.join()

    assert answers == {"one": "one", "two": "two"}
