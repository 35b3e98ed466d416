"""Bodies of items: JSON, compressed when large, in the bucket when larger than an item may be."""

from __future__ import annotations

import json
from typing import Any

import zstandard

from drafthand.store.blobs import Blobs
from drafthand.store.table import Item

COMPRESS_OVER = 1024
ITEM_MAX = 300_000
"""Bytes kept inside an item; DynamoDB's limit is 400 KB with all names and other attributes."""


class Bodies:
    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs

    def pack(self, owner: str, value: Any) -> Item:
        """The attributes that hold `value` (JSON-able) in an item of `owner`."""
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        if len(data) <= COMPRESS_OVER:
            return {"body": data}
        packed = zstandard.compress(data)
        if len(packed) <= ITEM_MAX:
            return {"body_zstd": packed}
        return {"body_blob": self.blobs.put(owner, packed, "application/zstd")}

    def unpack(self, owner: str, item: Item) -> Any:
        if "body" in item:
            return json.loads(item["body"])
        packed = item["body_zstd"] if "body_zstd" in item else self.blobs.get(owner, item["body_blob"])
        if packed is None:
            raise LookupError(f"the body {item['body_blob']} of {item['pk']} {item['sk']} is not in the bucket")
        return json.loads(zstandard.decompress(packed))
