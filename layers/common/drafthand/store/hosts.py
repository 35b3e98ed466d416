"""Hosts: who owns them, what they have open, when they were last heard."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, Field

from drafthand.errors import not_found
from drafthand.ids import new_id, now
from drafthand.store.table import Put, Table, Update

ONLINE_S = 40.0
"""Seconds without a word after which a host counts as gone: an idle poll is held 20 s, a heartbeat comes every 5 s."""


class Host(BaseModel):
    """One desktop application with our runtime in it. Times are Unix seconds; `busy_since` is None while idle."""

    id: str
    owner: str
    token_sha256: str
    application: dict[str, str] = Field(default_factory=dict)
    document: dict[str, str] | None = None
    last_seen_at: float = 0
    busy_since: float | None = None

    def online(self, at: float) -> bool:
        return at - self.last_seen_at < ONLINE_S


class Hosts:
    def __init__(self, table: Table) -> None:
        self.table = table

    def create(self, owner: str, host_id: str | None = None) -> tuple[str, str]:
        """A host of this owner, or a new token for it: (host id, token). Of the token only a hash is stored."""
        host_id = host_id or new_id("host")
        token = f"{host_id}.{secrets.token_urlsafe(32)}"
        host = Host(id=host_id, owner=owner, token_sha256=hashlib.sha256(token.encode()).hexdigest())
        keys = {"pk": f"HOST#{host_id}", "sk": "META", "gpk": f"OWNER#{owner}", "gsk": f"HOST#{host_id}"}
        self.table.write(Put(keys | host.model_dump()))
        return host_id, token

    def by_token(self, token: str) -> Host | None:
        host_id = token.partition(".")[0]
        item = self.table.get(f"HOST#{host_id}", "META")
        if item is None:
            return None
        digest = hashlib.sha256(token.encode()).hexdigest()
        return Host.model_validate(item) if hmac.compare_digest(digest, item["token_sha256"]) else None

    def get(self, owner: str, host_id: str) -> Host:
        """Raises CallerError 404 for what isn't there or isn't the owner's."""
        item = self.table.get(f"HOST#{host_id}", "META")
        if item is None or item["owner"] != owner:
            raise not_found("Host", host_id)
        return Host.model_validate(item)

    def of_owner(self, owner: str) -> Iterator[Host]:
        for item in self.table.query_owned(owner, "HOST#"):
            yield Host.model_validate(item)

    def pick(self, owner: str, host_id: str | None) -> Host | None:
        """This host if it is online; without an id the owner's host heard last; None if none is online.

        Raises:
            CallerError: 404 for a host that isn't there or isn't the owner's.
        """
        at = now()
        hosts = list(self.of_owner(owner)) if host_id is None else [self.get(owner, host_id)]
        return max((host for host in hosts if host.online(at)), key=lambda host: host.last_seen_at, default=None)

    def seen(self, host: Host, **facts: Any) -> None:
        self.table.write(
            Update(f"HOST#{host.id}", "META", set={"last_seen_at": now()} | facts, expect={"owner": host.owner})
        )
