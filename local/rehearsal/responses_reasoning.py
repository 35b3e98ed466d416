"""OpenAI Responses: ids of items, and reasoning that only the model that wrote it can read.

A client that stores nothing with the vendor sends reasoning back encrypted. The vendor binds it to the model and to the
item's id, and it knows which items came with reasoning: their ids are not taken without it. The rehearsal has no
memory, so an id tells whether reasoning stood before its item. The key is no secret: it has to survive restarts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from local.rehearsal.responses_request import (
    Compaction,
    Denied,
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    Reasoning,
    Request,
    Written,
)
from local.rehearsal.wire import MODEL

KEY = b"rehearsal, no secret"
HEAD = b"\x80\x00\x00\x00\x00"  # all of the vendor's encrypted content begins like this
PREFIXES = {
    Reasoning: "rs",
    Written: "msg",
    Message: "msg",
    FunctionCall: "fc",
    FunctionCallOutput: "fc",
    Compaction: "cmp",
}
THOUGHT, PLAIN = "7", "0"
PLACE_CHARS = 48


def place_of(request: Request, *, thought: bool) -> str:
    """The ids' common part of all items of an answer: the same request gets the same ids."""
    content = request.model_dump_json(include={"instructions", "input", "tools"}, exclude_none=True)
    return (THOUGHT if thought else PLAIN) + hashlib.sha256(content.encode()).hexdigest()[: PLACE_CHARS - 1]


def encrypt(identifier: str, model: str = MODEL) -> str:
    """The encrypted content of the reasoning item `identifier`, written by `model`."""
    name = identifier.encode()
    return base64.urlsafe_b64encode(HEAD + hmac.digest(KEY, model.encode() + b"\0" + name, "sha256") + name).decode()


def _owner(item: Reasoning) -> str | None:
    """The id that the encrypted content was made for; None where this model can't read it."""
    try:
        raw = base64.b64decode(item.encrypted_content or "", altchars=b"-_", validate=True)
        owner = raw[len(HEAD) + hashlib.sha256().digest_size :].decode()
    except ValueError:  # not base64, or not UTF-8
        return None
    return owner if item.encrypted_content == encrypt(owner) else None


def _unreadable(item: Reasoning) -> str | None:
    """Why the item's encrypted content is refused."""
    owner = _owner(item)
    if owner is None:
        return "Encrypted content could not be decrypted or parsed."
    if item.id is not None and item.id != owner:
        return "Encrypted content item_id did not match the target item id."
    return None


def encryption_problem(items: Sequence[Item]) -> Denied | None:
    for item in items:
        if isinstance(item, Reasoning) and item.encrypted_content and (reason := _unreadable(item)) is not None:
            shown = f"{item.encrypted_content[:4]}...{item.encrypted_content[-4:]}"
            which = shown if item.id is None else f"for item {item.id}"
            message = f"The encrypted content {which} could not be verified. Reason: {reason}"
            return Denied(message, "invalid_encrypted_content")
    return None


def persistence_problem(items: Sequence[Item], store: bool | None) -> Denied | None:
    """A reasoning item without its content stands for one that the vendor has stored; the rehearsal stores nothing."""
    for number, item in enumerate(items):
        if not isinstance(item, Reasoning) or item.encrypted_content:
            continue
        if item.id is None:
            at = f"input[{number}].id"
            return Denied(f"Missing required parameter: '{at}'.", "missing_required_parameter", at)
        message = f"Item with id '{item.id}' not found."
        if store is False:
            message += (
                " Items are not persisted when `store` is set to false. Try again with `store` set to true, "
                "or remove this item from your input."
            )
        return Denied(message, param="input", status=404)
    return None


def missing_reasoning(items: Sequence[Item]) -> Denied | None:
    """An item that came with reasoning is not taken back under its id without it."""
    seen: set[str] = set()
    for item in items:
        if isinstance(item, Reasoning):
            seen.add(item.id or _owner(item) or "")
        if not isinstance(item, Written | FunctionCall) or item.id is None:
            continue
        place = item.id.partition("_")[2]
        if len(place) == PLACE_CHARS and place.startswith(THOUGHT) and f"rs_{place}" not in seen:
            missing = f"was provided without its required 'reasoning' item: 'rs_{place}'."
            return Denied(f"Item '{item.id}' of type '{item.type}' {missing}", param="input")
    return None


def orphaned_reasoning(items: Sequence[Item]) -> Denied | None:
    """Reasoning is not taken without the message or call that it led to."""
    for number, item in enumerate(items):
        if not isinstance(item, Reasoning):
            continue
        following = next((later for later in items[number + 1 :] if not isinstance(later, Reasoning)), None)
        if not isinstance(following, Written | FunctionCall):
            which = f"Item '{item.id}'" if item.id else "Item"
            message = f"{which} of type 'reasoning' was provided without its required following item."
            return Denied(message, param="input")
    return None
