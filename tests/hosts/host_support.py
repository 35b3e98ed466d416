"""What the tests of the host share: commands, a small building, and a server that plays the cloud."""

import contextlib
import hashlib
import json
import queue
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import ifcopenshell
import ifcopenshell.api.aggregate as aggregate
import ifcopenshell.api.context as context
import ifcopenshell.api.feature as feature
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.material as material
import ifcopenshell.api.pset as pset
import ifcopenshell.api.root as root
import ifcopenshell.api.spatial as spatial
import ifcopenshell.api.type as types
import ifcopenshell.api.unit as unit

from hosts.ifc.supervisor import IfcHost
from hosts.runtime.journal import Journal

TOKEN = "host-token"


def sha256(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def command(command_id: str, mode: str = "read", script: str | None = None, **changes: object) -> dict:
    """A command as the server sends it."""
    return {
        "id": command_id,
        "run": "run_1",
        "session": "session_1",
        "mode": mode,
        "script": script,
        "script_sha256": None if script is None else sha256(script),
        "epilogue": None,
        "view": None,
        "document": None,
        "limits": {"seconds": 20.0, "output_chars": 1_000_000},
    } | changes


def epilogue(code: str) -> dict:
    return {"host": "ifc", "version": "1", "code": code, "sha256": sha256(code)}


@cache
def building_text() -> str:
    """60 doors of one type, in walls and loose, with property sets, a shared material and two storeys; IFC4."""
    model = ifcopenshell.file(schema="IFC4")
    project = root.create_entity(model, ifc_class="IfcProject", name="Test")
    unit.assign_unit(model)
    body = context.add_context(
        model,
        context_type="Model",
        context_identifier="Body",
        target_view="MODEL_VIEW",
        parent=context.add_context(model, context_type="Model"),
    )
    building = root.create_entity(model, ifc_class="IfcBuilding", name="House")
    storeys = [root.create_entity(model, ifc_class="IfcBuildingStorey", name=f"Level {n}") for n in (1, 2)]
    aggregate.assign_object(model, products=[building], relating_object=project)
    aggregate.assign_object(model, products=storeys, relating_object=building)
    doors = [root.create_entity(model, ifc_class="IfcDoor", name=f"Door {n}") for n in range(60)]
    walls = [root.create_entity(model, ifc_class="IfcWall", name=f"Wall {n}") for n in range(4)]
    spatial.assign_container(model, products=doors[:30] + walls, relating_structure=storeys[0])
    spatial.assign_container(model, products=doors[30:], relating_structure=storeys[1])
    door_type = root.create_entity(model, ifc_class="IfcDoorType", name="Type A")
    types.assign_type(model, related_objects=doors[:20], relating_type=door_type)
    brick = material.add_material(model, name="Brick")
    material.assign_material(model, products=walls, material=brick)
    for door in doors[:10]:
        common = pset.add_pset(model, product=door, name="Pset_DoorCommon")
        pset.edit_pset(model, pset=common, properties={"FireRating": "EI30", "IsExternal": False})
    for wall in walls:
        shape = geometry.add_wall_representation(model, context=body, length=4, height=3, thickness=0.2)
        geometry.assign_representation(model, product=wall, representation=shape)
        geometry.edit_object_placement(model, product=wall)
    opening = root.create_entity(model, ifc_class="IfcOpeningElement", name="Opening")
    feature.add_feature(model, feature=opening, element=walls[0])
    feature.add_filling(model, opening=opening, element=doors[0])
    return model.to_string()


def building() -> ifcopenshell.file:
    """A fresh copy of the small building."""
    return ifcopenshell.file.from_string(building_text())


class Bench:
    """A host on a file of its own, with its journal, as the link would drive it."""

    def __init__(self, folder: Path, strategy: str = "fork", text: str | None = None):
        self.path = folder / "model.ifc"
        self.path.write_text(text or building_text(), encoding="ascii", newline="\n")
        self.journal = Journal(folder / "journal")
        self.host = IfcHost(self.path, self.journal, strategy)
        self.host.start()
        self.count = 0

    def run(self, mode: str, script: str | None = None, **changes: object) -> dict:
        """Run one command and return its result."""
        self.count += 1
        order = command(f"c{self.count}", mode, script, **changes)
        self.journal.begin(order, self.host.document())
        return self.journal.finish(order["id"], self.host.run(order))

    def read(self, script: str) -> str:
        """What a read-only script prints."""
        result = self.run("read", script)
        assert result["outcome"] == "rolled_back", result
        return result["stdout"]

    def fingerprint(self) -> tuple[str, str]:
        """sha256 of the model in the worker's memory, header included, and of the file."""
        code = "import hashlib; print(hashlib.sha256(model.to_string().encode()).hexdigest())"
        return self.read(code).strip(), sha256(self.path.read_bytes())


@contextlib.contextmanager
def bench(folder: Path, strategy: str = "fork", text: str | None = None) -> Iterator[Bench]:
    made = Bench(folder, strategy, text)
    try:
        yield made
    finally:
        made.host.close()


class FakeCloud:
    """The host's side of the server over real HTTP: hands out commands, takes uploads and results.

    `polls` and `results` hold what came in, `blobs` what was put into the store. `on_poll`, `on_upload` and `on_result`
    decide the status of an answer from its body; `cancelled` are ids that a heartbeat is told to stop.
    """

    def __init__(self) -> None:
        self.commands: queue.Queue[dict] = queue.Queue()
        self.polls: queue.Queue[dict] = queue.Queue()
        self.results: queue.Queue[dict] = queue.Queue()
        self.blobs: dict[str, bytes] = {}
        self.put_headers: list[dict] = []
        self.cancelled: set[str] = set()
        self.on_result: Callable[[dict], int] = lambda _: 202
        self.on_poll: Callable[[dict], int] = lambda _: 200
        self.on_upload: Callable[[dict], int] = lambda _: 200
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: dict) -> tuple[int, dict]:
        if path == "/api/hosts/poll":
            return self._poll(body)
        if path == "/api/hosts/uploads":
            known = body["sha256"] in self.blobs
            url = None if known else f"{self.url}/store/{body['sha256']}"
            return self.on_upload(body), {"url": url, "headers": {"X-Needed": "yes"}, "method": "PUT"}
        self.results.put({"path": path, **body})
        return self.on_result(body), {}

    def _poll(self, body: dict) -> tuple[int, dict]:
        self.polls.put(body)
        answer = {"command": None, "next_poll_s": 0.01, "cancelled": body["command_id"] in self.cancelled}
        status = self.on_poll(body)
        if body["busy_since"] is None and status == 200:
            with contextlib.suppress(queue.Empty):
                answer["command"] = self.commands.get(timeout=0.05)
        return status, answer


def _handler(cloud: FakeCloud) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self._body())
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                self._send(401, {})
                return
            self._send(*cloud.answer(self.path, body))

        def do_PUT(self) -> None:
            cloud.put_headers.append(dict(self.headers))
            cloud.blobs[self.path.rsplit("/", 1)[1]] = self._body()
            self._send(200, {})

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers["Content-Length"]))

        def _send(self, status: int, answer: dict) -> None:
            data = json.dumps(answer).encode()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextlib.contextmanager
def fake_cloud() -> Iterator[FakeCloud]:
    cloud = FakeCloud()
    try:
        yield cloud
    finally:
        cloud.close()
