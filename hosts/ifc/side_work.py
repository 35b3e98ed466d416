"""What follows a script that succeeded: the server's report and a picture. Their failures are notes, nothing more."""

import functools
import hashlib
import json
import pickle
import struct

import ifcopenshell

from hosts.ifc.changes import Changes
from hosts.ifc.isolate import Isolate, Unfinished
from hosts.runtime import execute

REPORT_S = 60.0
PICTURE_S = 60.0  # a big building takes tens of seconds once; for more than a minute nobody waits
PNG_HEAD = struct.Struct(">8sxxxx4sII")  # signature, length of the first chunk, its name, width, height
WARM_UP_VIEW = {"kind": "3d", "storey": None, "width": 64, "height": 64}


class Epilogue(Exception):
    """The server's report script is at fault; the message says how."""


def report(
    command: dict, model: ifcopenshell.file, before: str, found: Changes, isolate: Isolate, result: dict
) -> None:
    """Run the command's epilogue, if there is one, and put what it leaves in `report` into the result."""
    epilogue = command.get("epilogue")
    if epilogue is None:
        return
    try:
        result["report"] = json.loads(isolate(lambda: _report(epilogue, model, before, found), REPORT_S))
    except Unfinished as error:
        result["notes"].append(f"The report failed: {error}.")


def picture(
    command: dict, model: ifcopenshell.file, found: Changes, isolate: Isolate, cache: dict, result: dict
) -> None:
    """Render the command's view, if there is one and it's wanted, and add the PNG to the result's images."""
    view = command.get("view")
    if view is None or (view.get("when") == "geometry" and command["mode"] != "view" and not found.geometry):
        return
    try:
        png = isolate(lambda: _picture(view, model, found, cache), PICTURE_S)
        width, height = _size(png)
    except (Unfinished, ValueError) as error:
        result["notes"].append(f"The picture failed: {error}.")
        return
    shown = {"kind": view["kind"], "storey": view.get("storey")}
    result["images"].append({"png": png, "media_type": "image/png", "width": width, "height": height, "view": shown})


def warm_up(model: ifcopenshell.file, cache: dict, isolate: Isolate) -> dict:
    """A cache that holds the shapes of the whole model, so that pictures after that only make the changed ones.

    The work is done apart and no script has run there, so that its pickle can be trusted. Raises Unfinished.
    """

    def fill() -> bytes:
        from hosts.ifc import picture

        picture.render(model, WARM_UP_VIEW, [], cache)
        return pickle.dumps(cache)

    return pickle.loads(isolate(fill, PICTURE_S))


def forget(cache: dict, changed: dict[str, list[int]]) -> None:
    """Drop from a cache what a commit has changed."""
    if cache:
        from hosts.ifc import picture

        picture.forget(cache, [number for numbers in changed.values() for number in numbers])


def _report(epilogue: dict, model: ifcopenshell.file, before: str, found: Changes) -> bytes:
    if hashlib.sha256(epilogue["code"].encode()).hexdigest() != epilogue["sha256"]:
        raise Epilogue("it isn't what its sha256 says")
    namespace = {
        "__name__": "__main__",
        "ifcopenshell": ifcopenshell,
        "model": model,
        "before": functools.cache(lambda: ifcopenshell.file.from_string(before)),
        "changed": found.by_kind(),
        "entities": found.entities,
    }
    error = execute.run(epilogue["code"], namespace, "<epilogue>")
    if error is not None:
        raise Epilogue(f"line {error['line']}: {error['type']}: {error['message']}")
    if not isinstance(namespace.get("report"), dict):
        raise Epilogue("it left no dict named report")
    return json.dumps(namespace["report"], allow_nan=False).encode("ascii")


def _picture(view: dict, model: ifcopenshell.file, found: Changes, cache: dict) -> bytes:
    from hosts.ifc import picture  # slow to import, and most commands want no picture

    forget(cache, found.by_kind())
    changed = found.added + found.modified
    highlight = changed if view.get("highlight") == "changed" else view.get("highlight") or []
    return picture.render(model, view, highlight, cache)


def _size(png: bytes) -> tuple[int, int]:
    """Width and height in pixels. Raises ValueError when it isn't a PNG."""
    if len(png) < PNG_HEAD.size:
        raise ValueError("it is no PNG")
    signature, name, width, height = PNG_HEAD.unpack_from(png)
    if signature != b"\x89PNG\r\n\x1a\n" or name != b"IHDR":
        raise ValueError("it is no PNG")
    return width, height
