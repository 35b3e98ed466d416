"""Runs inside Blender: the epilogue before and after a few edits; prints the report as JSON. Argument: the epilogue."""

import json
import sys
from pathlib import Path

import bpy

CODE = compile(Path(sys.argv[1]).read_text(encoding="ascii"), "<epilogue>", "exec")


def run(**given):
    namespace = {"__name__": "__main__", "bpy": bpy} | given
    exec(CODE, namespace)
    return namespace


cube, light = bpy.data.objects["Cube"], bpy.data.objects["Light"]
cube["FireRating"], cube["Layers"], cube["Maker"] = "EI30", [1, 2], {"name": "A", "year": 2020}
prepared = run(changed=None)["prepared"]

cube["FireRating"], cube["Layers"], cube["Maker"] = "EI60", [1, 3], {"name": "A", "year": 2021}
cube.location.z, cube.scale.x, cube.rotation_euler.z = 1, 2, 0.5
cube.modifiers.new("Bevel", "BEVEL")
changed = {"added": [], "modified": [cube.session_uid, light.session_uid + 10_000], "deleted": [light.session_uid]}
bpy.data.objects.remove(light)
wall = bpy.data.objects.new("Wänd", bpy.data.meshes.new("Panel"))
level = bpy.data.collections.new("Level 2")
bpy.context.scene.collection.children.link(level)
level.objects.link(wall)
changed["added"].append(wall.session_uid)
bpy.context.view_layer.update()

report = run(changed=changed, prepared=prepared, entities={})["report"]
print("REPORT " + json.dumps(report, allow_nan=False))
