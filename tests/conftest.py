from collections.abc import Iterator

import pytest
from drafthand.store import Store

from tests import stores

LONG = (
    "tests/flow",
    "tests/browser",
    "tests/tasks",
    "tests/contract/test_compaction",
    "tests/contract/test_vendor_compaction",
    "tests/contract/test_rendezvous_machine",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that the workers end together."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    with stores.moto() as url:
        yield url


@pytest.fixture(scope="session")
def ministack_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with stores.ministack(tmp_path_factory.mktemp("ministack")) as url:
        yield url


@pytest.fixture(params=["moto", "ministack"])
def any_store(request: pytest.FixtureRequest) -> Store:
    """The same test against each implementation."""
    return stores.fresh_store(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def store(moto_url: str) -> Store:
    return stores.fresh_store(moto_url)
