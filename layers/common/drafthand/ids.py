"""Identifiers, hashes and the clock."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time


def new_id(prefix: str) -> str:
    """`prefix_` and 24 characters of base32 (120 random bits): safe in a path, a key and every vendor's call id."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(15)).decode().lower()}"


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def now() -> float:
    """Unix seconds."""
    return time.time()
