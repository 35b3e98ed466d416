import ifcopenshell
import pytest

from hosts.ifc import document
from hosts.ifc.document import Unusable
from tests.hosts.host_support import building_text, sha256


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.ifc"
    path.write_text(building_text(), encoding="ascii")
    return path


def test_a_document_keeps_its_id_over_restarts_and_saves_and_its_version_follows_the_bytes(path):
    first = document.load(path)
    again = document.load(path)
    path.write_text(building_text().replace("Door 7", "Gate 7"), encoding="ascii")
    changed = document.load(path)

    assert first.state() == again.state()
    assert (changed.id, first.path.name) == (first.id, "model.ifc")
    assert (first.version, changed.version) == (sha256(building_text()), sha256(path.read_bytes()))


def test_another_file_has_another_id(path, tmp_path):
    other = tmp_path / "other.ifc"
    other.write_bytes(path.read_bytes())

    assert document.load(other).id != document.load(path).id


def test_a_link_is_the_file_it_leads_to(path, tmp_path):
    link = tmp_path / "link.ifc"
    link.symlink_to(path)

    assert document.load(link).state() == document.load(path).state()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "isn't an IFC file"),
        (b"hello", "isn't an IFC file"),
        (b"PK\x03\x04 zip", "ZIP archive"),
        (b"<?xml version='1.0'?><ifcXML/>", "is XML"),
        (building_text()[:5000].encode(), "is cut off"),
        (building_text().replace("'IFC4'", "'IFC9'").encode(), "schema"),
        (b"HEADER;\nEND-ISO-10303-21;", "no IFC"),
    ],
)
def test_a_file_that_is_no_ifc_is_refused_with_the_reason_and_what_to_do(path, content, why):
    path.write_bytes(content)

    with pytest.raises(Unusable, match=why) as refused:
        document.load(path)
    assert any(word in str(refused.value) for word in ("Export", "Unpack", "open"))


def test_a_path_that_leads_nowhere_is_refused(tmp_path):
    with pytest.raises(Unusable, match="No such file"):
        document.load(tmp_path / "none.ifc")
    with pytest.raises(Unusable, match="Is a directory"):
        document.load(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_raw_accented_letters_are_kept(path, encoding):
    # The library's parser drops them silently, and a save would then have lost them.
    path.write_bytes(building_text().replace("'Door 7'", "'Türe é 7'").encode(encoding))

    doors = document.load(path).model.by_type("IfcDoor")

    assert [door.Name for door in doors if door.Name.endswith(" 7")] == ["Türe é 7"]


def test_entities_that_the_library_leaves_out_are_counted(path):
    path.write_text(building_text().replace("IFCWALL(", "IFCNONSENSE("), encoding="ascii")

    assert document.load(path).unreadable == 4


def test_comments_and_several_entities_in_a_line_are_no_loss(path):
    text = building_text().replace("DATA;\n", "DATA;\n/* #900=IFCWALL('x');\n#901=IFCWALL('y'); */\n")
    path.write_text(text.replace(";\n#5=", ";#5="), encoding="ascii")

    assert document.load(path).unreadable == 0


def test_a_change_on_disk_is_noticed_and_a_mere_touch_is_not(path):
    held = document.load(path)

    path.touch()
    assert held.is_current()
    path.write_text(building_text().replace("Door 7", "Gate 7"), encoding="ascii")
    assert not held.is_current()
    path.unlink()
    assert not held.is_current()


def test_the_text_of_a_document_is_what_the_library_writes_and_reads_back(path):
    held = document.load(path)

    assert ifcopenshell.file.from_string(held.text).to_string() == held.text == held.model.to_string()


@pytest.mark.parametrize("name", ["see; #12=foo", "a /* b", "c */ d", "it''s #1=x;"])
def test_a_name_that_looks_like_step_does_not_count_as_an_entity(path, name):
    path.write_text(building_text().replace("Door 7", name), encoding="ascii")

    assert document.load(path).unreadable == 0


@pytest.mark.parametrize("behind", ["\0\0", "\x1a", "\n/* written by hand */\n"])
def test_what_lies_behind_the_end_of_a_file_does_not_matter(path, behind):
    path.write_text(building_text() + behind, encoding="ascii")

    assert document.load(path).unreadable == 0
