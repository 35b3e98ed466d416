"""A real browser on the built page. Skips, and says why, where Chromium or the built page is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.stub import DIST, TOKEN, Scenario, Stub, load
from tests.browser.watched import Watch

ARGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Lives no longer than this package: while Playwright's loop is open, no other test could start one."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium isn't installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server() -> Iterator[Stub]:
    if not (DIST / "index.html").exists():
        pytest.skip("the page isn't built (npm ci && npm run build in clients/web)")
    stub = Stub()
    yield stub
    stub.close()


@pytest.fixture
def stub(server: Stub, request: pytest.FixtureRequest) -> Stub:
    """The stub with the log that the test names by `@pytest.mark.parametrize("log", [...])`, else the full one."""
    name = request.getfixturevalue("log") if "log" in request.fixturenames else "doors"
    server.scenario = Scenario(load(name))
    return server


@pytest.fixture
def context(browser: Browser, stub: Stub) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(8_000)
    yield context
    context.close()


@pytest.fixture
def watch(context: BrowserContext, stub: Stub) -> Watch:
    """What the page asked for and complained about."""
    return Watch(context, stub.url)


@pytest.fixture
def page(context: BrowserContext, stub: Stub, watch: Watch) -> Page:
    """A signed-in page with an empty session."""
    page = context.new_page()
    page.goto(f"{stub.url}/#token={TOKEN}")
    return page
