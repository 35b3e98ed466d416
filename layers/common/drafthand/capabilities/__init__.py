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
        """The read-only script that reports what a command changed, and the sha256 of its bytes.

        What all reports have in common stands in front of what this application needs; the hash is of the whole.
        """
        code = f"{_text('report.py')}\n\n{self._text('epilogue.py')}"
        return code, hashlib.sha256(code.encode()).hexdigest()

    def _text(self, name: str) -> str:
        return _text(self.host_app, name)


def _text(*path: str) -> str:
    return files("drafthand.capabilities").joinpath(*path).read_text(encoding="utf-8")


IFC = Capability(
    host_app="ifc",
    title="IFC file",
    version="2026.12.4",
    examples=(
        "Renumber every door on level 2, left to right from the north",
        "Set the fire rating EI60 on all doors of one type",
        "Which windows and doors are not hosted in a wall?",
        "What is the total floor area of the spaces?",
    ),
    protected=("IfcProject", "IfcSite", "IfcBuilding", "IfcUnitAssignment", "IfcGrid"),
)

REVIT = Capability(
    host_app="revit",
    title="Revit",
    version="2026.12.2",
    examples=(
        "Renumber every door on level 2, left to right from the north",
        "Which rooms have no number, or one that occurs twice?",
        "Set Comments to 'check' on all walls without a fire rating",
        "Put a level every 3.5 m up to 35 m",
    ),
    protected=(
        "Grids",
        "Levels",
        "Phases",
        "Project Base Point",
        "Project Information",
        "RVT Links",
        "Survey Point",
    ),
    prepares=True,
)

FREECAD = Capability(
    host_app="freecad",
    title="FreeCAD",
    version="2026.12.2",
    examples=(
        "Make the plate 20 mm thick and keep its holes through",
        "Put a hole of 8 mm in each corner, 15 mm from the edges",
        "Which objects failed to recompute, and why?",
        "Rename all walls on the ground floor W-01, W-02 and so on",
    ),
    protected=("Building", "Project", "Site", "TechDraw::DrawPage"),
    prepares=True,
)

BLENDER = Capability(
    host_app="blender",
    title="Blender",
    version="2026.12.2",
    examples=(
        "Move everything that is named Chair into a collection Furniture",
        "Put 12 columns in a circle of 6 m",
        "Which meshes have no material?",
        "Apply a bevel of 1 cm to all walls",
    ),
    protected=("ARMATURE", "CAMERA", "LIGHT"),
    prepares=True,
)

CAPABILITIES = {each.host_app: each for each in (IFC, REVIT, FREECAD, BLENDER)}
