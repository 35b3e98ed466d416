from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.served import Served, serve


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server with the sample building for all tests that leave it usable."""
    with serve(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="session")
def hostless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model is not an IFC file, so that no host comes online."""
    folder: Path = tmp_path_factory.mktemp("hostless")
    (folder / "notes.ifc").write_text("these are not the walls you are looking for\n")
    with serve(folder, folder / "notes.ifc", host=False) as server:
        yield server
