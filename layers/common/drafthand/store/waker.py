"""Calls the run function to work on a run that nobody works on: what it was waiting for has come."""

from __future__ import annotations

import json
import urllib.request
from typing import Protocol

import boto3

TIMEOUT_S = 10.0


class Waker(Protocol):
    def wake(self, owner: str, run_id: str) -> None:
        """Asks for the run to be gone on with, and returns at once."""
        ...


class LambdaWaker:
    """By an asynchronous invocation, which the Lambda Web Adapter hands to the function as POST /events."""

    def __init__(self, function: str) -> None:
        self.client = boto3.client("lambda")
        self.function = function

    def wake(self, owner: str, run_id: str) -> None:
        payload = json.dumps({"owner": owner, "run": run_id}).encode()
        self.client.invoke(FunctionName=self.function, InvocationType="Event", Payload=payload)


class UrlWaker:
    """By the same request, where there is no Lambda."""

    def __init__(self, url: str) -> None:
        self.url = url

    def wake(self, owner: str, run_id: str) -> None:
        payload = json.dumps({"owner": owner, "run": run_id}).encode()
        request = urllib.request.Request(self.url, payload, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=TIMEOUT_S).close()
