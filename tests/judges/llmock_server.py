"""Runs llmock in an environment of its own (.venv-judges) until its input ends; says at which address."""

import sys

from llmock.testing import LLMockServer

with LLMockServer() as server:
    print(server.url, flush=True)
    sys.stdin.read()
