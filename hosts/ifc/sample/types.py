"""Types and materials of the sample building: doors with fire ratings, windows, layered walls, slabs."""

import ifcopenshell
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.material as material
import ifcopenshell.api.pset as pset
import ifcopenshell.api.root as root

from hosts.ifc.sample import layout

Entity = ifcopenshell.entity_instance
LINING_DEPTH = 0.10
GLAZING_DEPTH = 0.05

# Wall type -> its layers (material, category, thickness in metres), and whether it bears load.
WALLS = {
    "External wall 300": (
        (("Render", "plaster", 0.02), ("Insulation", "insulation", 0.13), ("Concrete", "concrete", 0.15)),
        True,
    ),
    "Corridor wall 150": ((("Concrete", "concrete", 0.15),), True),
    "Partition 120": (
        (("Plasterboard", "gypsum", 0.025), ("Steel stud", "steel", 0.07), ("Plasterboard", "gypsum", 0.025)),
        False,
    ),
    "Parapet 200": ((("Concrete", "concrete", 0.20),), False),
}


def thickness(wall_type: str) -> float:
    """Total of a wall type's layers in metres."""
    return sum(layer[2] for layer in WALLS[wall_type][0])


def add_door_types(model: ifcopenshell.file, body: Entity) -> dict[str, Entity]:
    """One IfcDoorType per kind, with a mapped body and Pset_DoorCommon.FireRating."""
    types = {}
    for key, kind in layout.DOORS.items():
        door_type = root.create_entity(model, ifc_class="IfcDoorType", name=kind.name, predefined_type="DOOR")
        door_type.OperationType = kind.operation
        shape = geometry.add_door_representation(
            model,
            context=body,
            overall_width=kind.width,
            overall_height=kind.height,
            operation_type=kind.operation,
            lining_properties={"LiningDepth": LINING_DEPTH, "CasingThickness": 0.0, "ThresholdThickness": 0.0},
        )
        geometry.assign_representation(model, product=door_type, representation=shape)
        common = pset.add_pset(model, product=door_type, name="Pset_DoorCommon")
        pset.edit_pset(model, pset=common, properties={"FireRating": kind.fire_rating})
        types[key] = door_type
    return types


def add_window_types(model: ifcopenshell.file, body: Entity) -> dict[str, Entity]:
    """One IfcWindowType per kind, with a mapped body."""
    types = {}
    for key, kind in layout.WINDOWS.items():
        window_type = root.create_entity(model, ifc_class="IfcWindowType", name=kind.name, predefined_type="WINDOW")
        window_type.PartitioningType = kind.partitioning
        shape = geometry.add_window_representation(
            model,
            context=body,
            overall_width=kind.width,
            overall_height=kind.height,
            partition_type=kind.partitioning,
            lining_properties={
                "LiningDepth": GLAZING_DEPTH,
                "LiningOffset": 0.0,
                "LiningToPanelOffsetX": 0.025,
                "LiningToPanelOffsetY": 0.015,
                "FirstMullionOffset": kind.width / 2,
            },
            panel_properties=[{} for _ in range(2 if kind.partitioning.startswith("DOUBLE") else 1)],
        )
        geometry.assign_representation(model, product=window_type, representation=shape)
        types[key] = window_type
    return types


def add_wall_types(model: ifcopenshell.file) -> dict[str, Entity]:
    """One IfcWallType per build-up, with its layer set."""
    materials: dict[str, Entity] = {}
    types = {}
    for name, (layers, _) in WALLS.items():
        predefined = "PARAPET" if name.startswith("Parapet") else "SOLIDWALL" if len(layers) == 1 else "STANDARD"
        wall_type = root.create_entity(model, ifc_class="IfcWallType", name=name, predefined_type=predefined)
        layer_set = material.add_material_set(model, name=name, set_type="IfcMaterialLayerSet")
        for layer_name, category, depth in layers:
            if layer_name not in materials:
                materials[layer_name] = material.add_material(model, name=layer_name, category=category)
            layer = material.add_layer(model, layer_set=layer_set, material=materials[layer_name])
            material.edit_layer(model, layer=layer, attributes={"LayerThickness": depth})
        material.assign_material(model, products=[wall_type], material=layer_set)
        types[name] = wall_type
    return types


def add_slab_type(model: ifcopenshell.file, name: str, predefined: str, depth: float) -> Entity:
    """An IfcSlabType of one concrete layer."""
    slab_type = root.create_entity(model, ifc_class="IfcSlabType", name=name, predefined_type=predefined)
    layer_set = material.add_material_set(model, name=name, set_type="IfcMaterialLayerSet")
    concrete = next(m for m in model.by_type("IfcMaterial") if m.Name == "Concrete")
    layer = material.add_layer(model, layer_set=layer_set, material=concrete)
    material.edit_layer(model, layer=layer, attributes={"LayerThickness": depth})
    material.assign_material(model, products=[slab_type], material=layer_set)
    return slab_type
