"""Every script that was ever dispatched, by the hash of its exact bytes."""

from __future__ import annotations

import zstandard

from drafthand.errors import ConditionFailed
from drafthand.ids import now, sha256_hex
from drafthand.store.table import ABSENT, Put, Table

SCRIPT_MAX_BYTES = 1_000_000


class Scripts:
    def __init__(self, table: Table) -> None:
        self.table = table

    def put(self, owner: str, script: str) -> str:
        """Store the script for this owner; its sha256. Storing it again changes nothing."""
        data = script.encode()
        sha256 = sha256_hex(data)
        item = {"pk": f"SCRIPT#{sha256}", "sk": f"BODY#{owner}", "at": now(), "body_zstd": zstandard.compress(data)}
        try:
            self.table.write(Put(item, expect={"pk": ABSENT}))
        except ConditionFailed:
            return sha256  # the same bytes lie there already
        return sha256

    def get(self, owner: str, sha256: str) -> str | None:
        item = self.table.get(f"SCRIPT#{sha256}", f"BODY#{owner}")
        return None if item is None else zstandard.decompress(item["body_zstd"]).decode()
