"""Runs inside FreeCAD: the epilogue before and after a few edits; prints the report. EPILOGUE names its file."""

import json
import os
import sys
from pathlib import Path

import FreeCAD as App
import Part  # noqa: F401 - its kinds of objects are known once it's loaded

CODE = compile(Path(os.environ["EPILOGUE"]).read_text(encoding="ascii"), "<epilogue>", "exec")

doc = App.newDocument("Plate")
box, group = doc.addObject("Part::Box", "Box"), doc.addObject("App::DocumentObjectGroup", "Level")
peg = doc.addObject("Part::Cylinder", "Peg")
group.Label = "Level 2"
group.addObject(box)
box.addProperty("App::PropertyString", "FireRating")
box.addProperty("App::PropertyFloatList", "Holes")
box.addProperty("App::PropertyMap", "Maker")
box.addProperty("App::PropertyLink", "Host")
box.FireRating = "EI30"
doc.recompute()


def run(**given):
    namespace = {"__name__": "__main__", "App": App, "doc": doc} | given
    exec(CODE, namespace)
    return namespace


prepared = run(changed=None)["prepared"]

box.FireRating, box.Holes, box.Maker, box.Host = "EI60", [1, 2.5], {"name": "A"}, peg
box.Length = 25.0005
box.Placement = App.Placement(App.Vector(1, 2, 3), App.Rotation(App.Vector(0, 0, 1), 90))
box.setExpression("Height", "Width * 2")
changed = {"added": [], "modified": [box.ID, group.ID, 999_999], "deleted": [peg.ID]}
doc.removeObject("Peg")
ball = doc.addObject("Part::Sphere", "Ball")
ball.Label = "Würfel"
changed["added"].append(ball.ID)
doc.recompute()

report = run(changed=changed, prepared=prepared, entities={})["report"]
sys.stdout.write("REPORT " + json.dumps(report, allow_nan=False) + "\n")
