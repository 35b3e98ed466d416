"""The script that a call runs: its code, or the held script with its edits."""

from __future__ import annotations

from dataclasses import dataclass

from drafthand.doubts import doubts
from drafthand.edits import BadEdit, apply_edits, difference, numbered_edits
from drafthand.ids import sha256_hex
from drafthand.session import Session
from drafthand.store import Store
from drafthand.tools import CaptureView, DataCollection, ToolInput


@dataclass(frozen=True)
class Script:
    """What will run, and what merging has to say.

    `regions` is the merged script around each edit with its line numbers, `notes` are doubts, `diff` is unified; all
    empty for a script that was sent whole.
    """

    text: str
    regions: str = ""
    notes: tuple[str, ...] = ()
    diff: str = ""

    @property
    def sha256(self) -> str:
        return sha256_hex(self.text.encode())


def script_of(store: Store, session: Session, value: ToolInput) -> Script | None:
    """The script of a call; None for a call that runs none.

    Raises:
        BadEdit: there is no held script, or it lacks a line.
    """
    if isinstance(value, CaptureView):
        return None
    if isinstance(value, DataCollection):
        return Script(value.code)
    if value.code is not None:
        return Script(value.code)
    if session.script_sha256 is None:
        raise BadEdit("No script is held yet, so there is nothing to edit. Send the whole script as code.")
    held = store.scripts.get(session.owner, session.script_sha256)
    if held is None:
        raise LookupError(f"the held script {session.script_sha256} is not in the store")
    edits = value.edits or []
    merged = apply_edits(held, edits)
    if not merged.strip():
        raise BadEdit("These edits would leave an empty script. Keep a line, or send a new script as code.")
    notes = tuple(doubts(held, edits, merged))
    return Script(merged, numbered_edits(merged, edits), notes, difference(held, merged))
