"""Running an epilogue as a host does: once before the script, once after it, in fresh namespaces."""

import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from unittest import mock

from drafthand.capabilities import CAPABILITIES
from drafthand.commands import Report

NOTHING = {"added": [], "modified": [], "deleted": []}


def execute(app: str, namespace: dict[str, Any], modules: Mapping[str, ModuleType]) -> dict[str, Any]:
    code, _ = CAPABILITIES[app].build_task_automation_epilogue()
    with mock.patch.dict("sys.modules", modules):
        exec(compile(code, "<epilogue>", "exec"), namespace)
    return namespace


def prepare(desk: Any) -> Any:
    """What the first run leaves in `prepared`."""
    namespace = execute(desk.APP, {"changed": None, "__name__": "__main__"} | desk.namespace(), desk.modules)
    assert "report" not in namespace
    return namespace["prepared"]


def report(desk: Any, prepared: Any, **changed: list[int]) -> dict[str, Any]:
    """What the second run leaves in `report`, checked against its schema and JSON."""
    entities = {"added": 1, "modified": 2, "deleted": 3}
    given = {"changed": NOTHING | changed, "prepared": prepared, "entities": entities, "__name__": "__main__"}
    found = execute(desk.APP, given | desk.namespace(), desk.modules)["report"]
    assert Report.model_validate(found).model_dump() == found
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def row(desk: Any, identifier: int, change: str, name: str, *changes: dict[str, Any]) -> dict[str, Any]:
    """The row expected of an element of a desk."""
    return {
        "id": identifier,
        "change": change,
        "category": desk.CATEGORY,
        "name": name,
        "tag": desk.tag(identifier),
        "level": desk.LEVEL,
        "type": desk.TYPE,
        "changes": list(changes),
    }


def group(desk: Any, change: str, count: int, example: tuple[int, str], *changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "category": desk.CATEGORY,
        "change": change,
        "count": count,
        "example": {"id": example[0], "name": example[1]},
        "changes": list(changes),
    }


def diff(name: str, before: Any, after: Any) -> dict[str, Any]:
    return {"property": name, "before": before, "after": after}
