"""Who is asking. A token says either which user or which host; neither can do what the other may."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from drafthand.errors import CallerError
from drafthand.ids import sha256_hex
from drafthand.settings import Settings
from drafthand.store import Store
from drafthand.store.hosts import Host

LOCAL_OWNER = "local"


def _unauthorized(detail: str) -> CallerError:
    return CallerError(401, "Not signed in", detail)


def bearer(headers: Mapping[str, str]) -> str:
    """The bearer token of a request.

    Args:
        headers: with lower-case names.

    Raises:
        CallerError: 401 where there is none.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise _unauthorized("Send the header Authorization: Bearer <token>.")
    return token.strip()


def user(settings: Settings, headers: Mapping[str, str]) -> str:
    """The owner id of the user. Raises CallerError 401."""
    token = bearer(headers)
    expected = settings.local_token_sha256
    if expected is None or not hmac.compare_digest(sha256_hex(token.encode()), expected):
        raise _unauthorized("This token is not known here. Use the one from the address that the server printed.")
    return LOCAL_OWNER


def host(store: Store, headers: Mapping[str, str]) -> Host:
    """The host whose token this is. Raises CallerError 401."""
    found = store.hosts.by_token(bearer(headers))
    if found is None:
        raise _unauthorized("This host token is not known or was revoked. Pair the host again.")
    return found
