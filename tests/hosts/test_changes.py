import ifcopenshell
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.material as material
import ifcopenshell.api.pset as pset
import ifcopenshell.api.root as root
import ifcopenshell.api.spatial as spatial
import ifcopenshell.api.style as style
import ifcopenshell.api.type as types
import ifcopenshell.guid
import ifcopenshell.util.element as element_util
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.ifc import changes, step
from hosts.ifc.changes import Changes
from tests.hosts.host_support import building, building_text
from tests.paths import shared


@pytest.fixture
def model() -> ifcopenshell.file:
    return building()


def found(model: ifcopenshell.file, before: str | None = None) -> Changes:
    """What changed since the building was made."""
    return changes.between(before or building_text(), model.to_string(), model)


def ids(elements: list[ifcopenshell.entity_instance]) -> list[int]:
    return sorted(element.id() for element in elements)


def test_nothing_done_is_nothing_changed(model):
    assert found(model) == Changes([], [], [], False, {"added": 0, "modified": 0, "deleted": 0})


def test_renaming_eight_doors_modifies_exactly_these_eight(model):
    doors = model.by_type("IfcDoor")[:8]
    for door in doors:
        door.Name = "x"

    assert found(model) == Changes([], ids(doors), [], False, {"added": 0, "modified": 8, "deleted": 0})


def test_a_new_property_set_modifies_its_door_and_adds_no_element(model):
    door = model.by_type("IfcDoor")[40]
    pset.edit_pset(model, pset=pset.add_pset(model, product=door, name="New"), properties={"A": "b"})

    result = found(model)

    assert (result.added, result.modified, result.deleted) == ([], [door.id()], [])
    assert result.entities["added"] > 0


def test_an_edited_property_modifies_its_door_even_when_edited_in_place(model):
    door = model.by_type("IfcDoor")[3]
    rating = element_util.get_pset(door, "Pset_DoorCommon", "FireRating", verbose=True)
    model.by_id(rating["id"]).NominalValue.wrappedValue = "EI90"

    assert found(model).modified == [door.id()]


def test_a_removed_property_set_modifies_its_door(model):
    door = model.by_type("IfcDoor")[3]
    common = model.by_id(element_util.get_pset(door, "Pset_DoorCommon")["id"])
    pset.remove_pset(model, product=door, pset=common)

    result = found(model)

    assert (result.modified, result.deleted) == ([door.id()], [])


def test_a_type_that_changed_changed_for_all_its_occurrences(model):
    door_type = model.by_type("IfcDoorType")[0]
    door_type.Name = "Type B"

    assert found(model).modified == ids([door_type, *model.by_type("IfcDoor")[:20]])


def test_a_type_that_is_given_to_some_modifies_those_only(model):
    doors = model.by_type("IfcDoor")[20:23]
    types.assign_type(model, related_objects=doors, relating_type=model.by_type("IfcDoorType")[0])

    assert found(model).modified == ids(doors)


def test_a_shared_material_changes_all_its_users(model):
    model.by_type("IfcMaterial")[0].Name = "Concrete"

    assert found(model).modified == ids(model.by_type("IfcWall"))


def test_another_material_for_one_wall_modifies_that_wall_only(model):
    wall = model.by_type("IfcWall")[2]
    material.assign_material(model, products=[wall], material=material.add_material(model, name="Steel"))

    assert found(model).modified == [wall.id()]


def test_an_element_moved_to_another_storey_is_modified_alone(model):
    door = model.by_type("IfcDoor")[1]
    spatial.assign_container(model, products=[door], relating_structure=model.by_type("IfcBuildingStorey")[1])

    assert found(model).modified == [door.id()]


def test_a_relation_that_gets_another_storey_modifies_all_its_members(model):
    first, second = model.by_type("IfcBuildingStorey")
    relation = first.ContainsElements[0]
    relation.RelatingStructure = second

    assert found(model).modified == ids(relation.RelatedElements)


def test_a_relation_that_is_only_renamed_or_reordered_modifies_nobody(model):
    relation = model.by_type("IfcBuildingStorey")[0].ContainsElements[0]
    relation.Name = "contents"
    relation.RelatedElements = tuple(reversed(relation.RelatedElements))

    result = found(model)

    assert (result.modified, result.entities["modified"]) == ([], 1)


def test_a_moved_wall_changes_geometry_and_not_what_is_placed_relative_to_it(model):
    wall = model.by_type("IfcWall")[0]
    wall.ObjectPlacement.RelativePlacement.Location.Coordinates = (5.0, 0.0, 0.0)

    result = found(model)

    assert (result.modified, result.geometry) == ([wall.id()], True)


def test_an_edited_point_of_a_shape_changes_its_wall(model):
    wall = model.by_type("IfcWall")[3]
    solid = wall.Representation.Representations[0].Items[0]
    solid.Depth = 9.0

    result = found(model)

    assert (result.modified, result.geometry) == ([wall.id()], True)


def test_a_new_style_on_a_shape_changes_its_wall(model):
    wall = model.by_type("IfcWall")[1]
    shape = wall.Representation.Representations[0]
    red = style.add_style(model, name="red")
    colour = {"SurfaceColour": {"Red": 1, "Green": 0, "Blue": 0}}
    style.add_surface_style(model, style=red, ifc_class="IfcSurfaceStyleShading", attributes=colour)
    style.assign_representation_styles(model, shape_representation=shape, styles=[red])
    before = model.to_string()
    model.by_type("IfcColourRgb")[0].Green = 0.5

    assert found(model).modified == [wall.id()]
    assert found(model, before).modified == [wall.id()]


def test_an_opening_changes_the_geometry_of_its_wall(model):
    wall = model.by_type("IfcWall")[0]
    opening = wall.HasOpenings[0].RelatedOpeningElement
    root.remove_product(model, product=opening)

    result = found(model)

    assert result.deleted == [opening.id()]
    assert wall.id() in result.modified
    assert result.geometry


def test_an_edited_owner_history_or_context_modifies_no_product(model):
    person = model.create_entity("IfcPerson", Identification="me")
    organization = model.create_entity("IfcOrganization", Name="us")
    both = model.create_entity("IfcPersonAndOrganization", person, organization)
    application = model.create_entity("IfcApplication", organization, "1", "App", "app")
    history = model.create_entity("IfcOwnerHistory", both, application, None, "NOCHANGE", None, None, None, 1)
    for door in model.by_type("IfcDoor"):
        door.OwnerHistory = history
    before = model.to_string()
    history.CreationDate = 2
    person.Identification = "you"
    model.by_type("IfcGeometricRepresentationContext", include_subtypes=False)[0].Precision = 0.5

    result = found(model, before)

    assert result.modified == ids(model.by_type("IfcProject"))
    assert result.entities["modified"] == 3


def test_a_header_edit_changes_no_entity(model):
    model.header.file_name.name = "other"

    assert found(model) == Changes()


def test_a_copy_is_added_and_a_removed_product_deleted(model):
    door = model.by_type("IfcDoor")[5]
    copy = root.copy_class(model, product=door)
    gone = model.by_type("IfcDoor")[50].id()
    root.remove_product(model, product=model.by_id(gone))

    result = found(model)

    assert (result.added, result.deleted) == ([copy.id()], [gone])
    assert result.modified == []
    assert result.geometry


def test_a_reassigned_class_is_a_modification(model):
    door = model.by_type("IfcDoor")[30]
    window = root.reassign_class(model, product=door, ifc_class="IfcWindow")

    result = found(model)

    assert (result.added, result.modified, result.deleted) == ([], [window.id()], [])


def test_an_id_that_is_used_again_for_another_element_is_both_deleted_and_added(model):
    door = model.by_type("IfcDoor")[59]
    number = door.id()
    root.remove_product(model, product=door)
    model.create_entity("IfcWall", id=number, GlobalId=ifcopenshell.guid.new())

    result = found(model)

    assert number in result.added
    assert number in result.deleted
    assert number not in result.modified


def test_a_deleted_thing_that_is_no_element_modifies_its_element(model):
    shape = model.by_type("IfcWall")[2].Representation
    model.remove(shape)

    result = found(model)

    assert (result.modified, result.deleted) == (ids([model.by_type("IfcWall")[2]]), [])
    assert result.geometry


def test_placing_one_door_of_a_real_house_moves_that_door_only():
    model = ifcopenshell.open(shared("ifc", "Duplex_A_20110907.ifc"))
    before = model.to_string()
    door = model.by_type("IfcDoor")[0]
    geometry.edit_object_placement(model, product=door)

    result = changes.between(before, model.to_string(), model)

    assert (result.added, result.modified, result.deleted) == ([], [door.id()], [])
    assert result.geometry


def test_a_rating_on_six_doors_of_a_real_house_modifies_exactly_these():
    model = ifcopenshell.open(shared("ifc", "Duplex_A_20110907.ifc"))
    before = model.to_string()
    doors = [door for door in model.by_type("IfcDoor") if element_util.get_type(door).Name == "0864 x 2032mm"]
    for door in doors:
        for relation in door.IsDefinedBy:
            for each in (
                getattr(relation.RelatingPropertyDefinition, "HasProperties", ())
                if relation.is_a("IfcRelDefinesByProperties")
                else ()
            ):
                if each.Name == "FireRating":
                    each.NominalValue = model.create_entity("IfcLabel", "EI60")

    result = changes.between(before, model.to_string(), model)

    assert (len(doors), result.modified) == (6, ids(doors))
    assert (result.added, result.deleted) == ([], [])


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_set_of_renamed_and_removed_doors_is_found_exactly(data):
    model = building()
    doors = model.by_type("IfcDoor")
    renamed = data.draw(st.sets(st.integers(1, 59)))
    removed = data.draw(st.sets(st.integers(1, 59), max_size=8))
    gone = ids([doors[number] for number in removed])
    kept = ids([doors[number] for number in renamed - removed])
    for number in renamed:
        doors[number].Name = f"new {number}"
    for number in removed:
        root.remove_product(model, product=doors[number])

    result = found(model)

    assert (result.added, result.modified, result.deleted) == ([], kept, gone)


ATTRIBUTE = st.recursive(
    st.one_of(
        st.just("$"),
        st.integers(1, 99).map(lambda number: f"#{number}"),
        st.text(alphabet="a(),;#1\\", max_size=8).map(lambda text: f"'{text}'"),
        st.just("'it''s #5'"),
        st.just(".T."),
        st.just("-1.5E-3"),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"({','.join(items)})"),
        inner.map(lambda value: f"IFCLABEL({value})"),
    ),
    max_leaves=8,
)


@given(st.integers(1, 10**9), st.lists(ATTRIBUTE, max_size=6))
def test_a_line_is_split_into_the_attributes_it_was_made_of(number, attributes):
    line = step.parse(f"#{number}=IFCANYTHING({','.join(attributes)});")

    assert line == step.Line("IFCANYTHING", tuple(attributes))


def test_references_inside_text_are_none():
    line = step.parse("#7=IFCX('see #5',(#1,(#2,IFCY(#3))),$);")

    assert line.references(0) == set()
    assert line.references(1, 2) == {1, 2, 3}


@given(
    st.dictionaries(st.integers(1, 40), st.sampled_from("abc"), max_size=20),
    st.dictionaries(st.integers(1, 40), st.sampled_from("abc"), max_size=20),
)
def test_the_difference_is_that_of_the_dictionaries(before, after):
    texts = ["HEADER;\n" + "".join(f"#{n}=IFCX('{v}');\n" for n, v in lines.items()) for lines in (before, after)]

    result = step.difference(*texts)

    assert result.added == after.keys() - before.keys()
    assert result.deleted == before.keys() - after.keys()
    assert result.modified == {n for n in before.keys() & after.keys() if before[n] != after[n]}
