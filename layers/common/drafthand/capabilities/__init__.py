"""What the cloud knows of each desktop application: text only, so that it can change on an afternoon.

A host stays dumb; its epilogue, its prompt and its examples live here, stamped with a version.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

REPORT_CALL = "\n\nreport = build_report(model, before, changed, entities)\n"
"""Ends every epilogue: the names a host puts into its namespace, and the one it reads back."""


@dataclass(frozen=True)
class Capability:
    """One desktop application. `title` is what a person calls it."""

    host_app: str
    title: str
    version: str

    @property
    def prompt(self) -> str:
        """The system prompt's section on this application."""
        return self._text("prompt.md")

    def build_task_automation_epilogue(self) -> tuple[str, str]:
        """The read-only script that reports what a command changed, and the sha256 of its bytes."""
        code = self._text("epilogue.py") + REPORT_CALL
        return code, hashlib.sha256(code.encode()).hexdigest()

    def _text(self, name: str) -> str:
        return files("drafthand.capabilities").joinpath(self.host_app, name).read_text()


CAPABILITIES = {each.host_app: each for each in (Capability("ifc", "IFC file", "2026.12.1"),)}
