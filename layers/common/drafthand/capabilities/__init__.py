"""What the cloud knows of each desktop application: text and figures only, so that they can change on an afternoon.

A host stays dumb; its epilogue, its prompt, its thresholds and pictures are decided here, stamped with a version.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Capability:
    """One desktop application. `title` is what a person calls it; its texts lie in the folder of its name.

    Args:
        version: changes with every text and figure here; audit lines and reports are stamped with it.
        examples: requests that make sense in this application, for a person who doesn't know where to begin.
        protected: categories that no script should touch unasked; a report that names one says so.
        prepares: whether the epilogue runs before the script too, in hosts that can't show the document as it was.
        named_up_to: elements that a report names one by one; above that groups are counted.
        picture_px: width and height asked of the host; each model then sees it at its own ceiling.
    """

    host_app: str
    title: str
    version: str
    examples: tuple[str, ...]
    protected: tuple[str, ...]
    prepares: bool = False
    named_up_to: int = 15
    picture_px: tuple[int, int] = (1600, 1200)

    @property
    def prompt(self) -> str:
        """The system prompt's section on this application."""
        return (
            f"{self._text('prompt.md')}- Never change these unless the user asks for it: {', '.join(self.protected)}.\n"
        )

    def build_task_automation_epilogue(self) -> tuple[str, str]:
        """The read-only script that reports what a command changed, and the sha256 of its bytes."""
        code = self._text("epilogue.py")
        return code, hashlib.sha256(code.encode()).hexdigest()

    def _text(self, name: str) -> str:
        return files("drafthand.capabilities").joinpath(self.host_app, name).read_text()


IFC = Capability(
    host_app="ifc",
    title="IFC file",
    version="2026.12.2",
    examples=(
        "Renumber every door on level 2, left to right from the north",
        "Set the fire rating EI60 on all doors of one type",
        "Which windows and doors are not hosted in a wall?",
        "What is the total floor area of the spaces?",
    ),
    protected=("IfcProject", "IfcSite", "IfcBuilding", "IfcUnitAssignment", "IfcGrid"),
)

CAPABILITIES = {each.host_app: each for each in (IFC,)}
