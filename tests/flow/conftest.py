import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.ifc.sample import build_sample
from tests.flow.served import Served, serve


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample building; not to be changed."""
    path: Path = tmp_path_factory.mktemp("sample") / "sample.ifc"
    build_sample(path)
    return path


@pytest.fixture
def model(sample: Path, tmp_path: Path) -> Path:
    """A copy of the sample building for one test."""
    return Path(shutil.copy(sample, tmp_path / "model.ifc"))


@pytest.fixture(scope="session")
def served(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests that only look."""
    folder = tmp_path_factory.mktemp("served")
    with serve(folder, Path(shutil.copy(sample, folder / "model.ifc"))) as server:
        yield server


@pytest.fixture(scope="session")
def hostless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model is not an IFC file, so that no host comes online."""
    folder: Path = tmp_path_factory.mktemp("hostless")
    (folder / "notes.ifc").write_text("these are not the walls you are looking for\n")
    with serve(folder, folder / "notes.ifc", host=False) as server:
        yield server
