"""One version of the document: the parsed model, its text, and which bytes on disk it is."""

import hashlib
import re
from pathlib import Path

import ifcopenshell
from ifcopenshell.ifcopenshell_wrapper import file_open_status

from hosts.ifc.disk import file_status, file_version

NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
ENTITY = re.compile(r"(?:^|;)\s*#\d+\s*=", re.MULTILINE)
STRING_OR_COMMENT = re.compile(r"'[^']*'|/\*.*?\*/", re.DOTALL)  # a string may hold anything that looks like STEP
PADDING = " \t\r\n\0\x1a"  # what programs put behind a file's end
REASONS = {
    file_open_status.NO_HEADER: "it has no IFC (STEP) header",
    file_open_status.UNSUPPORTED_SCHEMA: "its schema isn't IFC2X3, IFC4 or IFC4X3",
    file_open_status.INVALID_SYNTAX: "its text can't be parsed",
}


class Unusable(Exception):
    """The file can't be worked with; the message says why and what to do."""


class Document:
    """A model in memory and the file it came from.

    `text` is what `to_string` gives for the unchanged model, one entity in a line. `unreadable` counts entities that
    the library left out when it parsed the file; saving would lose them.
    """

    def __init__(self, path: Path, data: bytes, status: tuple[int, int, int] | None = None):
        self.path = path
        self.model, found = _parse(path, data)
        self.text = self.model.to_string()
        self.unreadable = max(0, found - len(self.model.entity_names()))
        self.id = _identity(path, self.model)
        self.version = hashlib.sha256(data).hexdigest()
        self._status = status

    def state(self) -> dict:
        """The document as the wire contract names it: {id, title, version}."""
        return {"id": self.id, "title": self.path.name, "version": self.version}

    def is_current(self) -> bool:
        """Whether the file on disk is still this version; cheap as long as nobody touches it."""
        status = file_status(self.path)
        if status == self._status:
            return True
        if not self.is_on_disk():
            return False
        self._status = status
        return True

    def is_on_disk(self) -> bool:
        """Whether the file on disk is this version, byte for byte."""
        return file_version(self.path) == self.version

    def moved_on(self, text: str, version: str) -> None:
        """This model was saved: it has this text now, and these bytes."""
        self.text = text
        self.version = version
        self._status = file_status(self.path)
        # A transaction that the script left open would journal, and so slow down, every later edit.
        self.model.transaction, self.model.history, self.model.future = None, [], []


def load(path: Path) -> Document:
    """Read and parse an IFC file.

    Raises:
        Unusable: with the reason and what to do about it.
    """
    try:
        real = path.resolve(strict=True)
        status = file_status(real)
        data = real.read_bytes()
    except OSError as error:
        raise Unusable(f"{path} can't be read ({error.strerror}). Check the path and its permissions.") from error
    return Document(real, data, status)


def _parse(path: Path, data: bytes) -> tuple[ifcopenshell.file, int]:
    """The model, and how many entities the text has."""
    if data[:2] == b"PK":
        raise Unusable(f"{path.name} is a ZIP archive (.ifczip). Unpack it and open the .ifc inside.")
    if data.lstrip()[:1] == b"<":
        raise Unusable(f"{path.name} is XML. Export it as IFC (STEP, .ifc) and open that.")
    text = _to_ascii(data)
    bare = STRING_OR_COMMENT.sub("", text)
    if not bare.rstrip(PADDING).endswith("END-ISO-10303-21;"):
        what = "is cut off: its last line is missing" if "ISO-10303-21;" in text[:1000] else "isn't an IFC file"
        raise Unusable(f"{path.name} {what}. Export it again, or open another file.")
    model = ifcopenshell.file.from_string(text)
    good = model.good().value()
    if good != file_open_status.SUCCESS:
        reason = REASONS.get(good, "IfcOpenShell can't open it")
        raise Unusable(f"{path.name} can't be opened: {reason}. Export it again as IFC4 or IFC2X3.")
    return model, len(ENTITY.findall(bare))


def _to_ascii(data: bytes) -> str:
    """STEP text is ASCII. Raw accented letters, which some programs write, would be dropped silently by the parser."""
    if data.isascii():
        return data.decode("ascii")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return NOT_ASCII.sub(lambda found: f"\\X4\\{found[0].encode('utf-32-be').hex().upper()}\\X0\\", text)


def _identity(path: Path, model: ifcopenshell.file) -> str:
    """An id that stays with this file across restarts and saves."""
    projects = model.by_type("IfcProject")
    project = projects[0].GlobalId if projects else ""
    return hashlib.sha256(f"{path}\n{project}".encode()).hexdigest()[:16]
