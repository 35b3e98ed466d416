"""Change reports as long as a test wants them, in the server's shape."""

from __future__ import annotations

from typing import Any

ROWS_IN_CHUNK = 50


def long_report(elements: int) -> dict[str, Any]:
    """Two doors renumbered for each window that was rated."""
    rows = [_row(number) for number in range(1, elements + 1)]
    return {
        "counts": {"added": 0, "modified": elements, "deleted": 0},
        "elements": rows,
        "groups": [_group(rows, "IfcDoor"), _group(rows, "IfcWindow")],
        "unresolved": 0,
        "entities": {"added": elements, "modified": elements, "deleted": 0},
    }


def head_of(report: dict[str, Any]) -> dict[str, Any]:
    """What a chunk holds of it."""
    return report | {"elements": report["elements"][:ROWS_IN_CHUNK]}


def _row(number: int) -> dict[str, Any]:
    window = number % 3 == 0
    rated = {"property": "Pset_WindowCommon.FireRating", "before": None, "after": "EI 30"}
    renumbered = {"property": "Tag", "before": f"D{number}", "after": f"D-{number:04d}"}
    return {
        "id": 100 + number,
        "change": "modified",
        "category": "IfcWindow" if window else "IfcDoor",
        "name": f"Fenêtre · {number}" if window else f"Porte · {number}",
        "tag": None if window else f"D-{number:04d}",
        "level": "Level 2",
        "type": None,
        "changes": [rated if window else renumbered],
    }


def _group(rows: list[dict[str, Any]], category: str) -> dict[str, Any]:
    members = [row for row in rows if row["category"] == category]
    various = {"property": "Tag", "before": "(various)", "after": "(various)"}
    return {
        "category": category,
        "change": "modified",
        "count": len(members),
        "example": {"id": members[0]["id"], "name": members[0]["name"]},
        "changes": [various] if category == "IfcDoor" else members[0]["changes"],
    }
