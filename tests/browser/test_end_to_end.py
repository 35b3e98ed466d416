"""The page on the real server: functions, store, rehearsal model, IFC host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from hosts.ifc.sample import build_sample
from tests.browser.stub import DIST
from tests.browser.watched import Watch, send
from tests.flow.doors import changed_ids, doors_on
from tests.flow.served import Served, serve

ASK = "Renumber every door on level 2, left to right from the north"
TOKENS_PER_SECOND = 150  # slow enough to be seen writing, fast enough for a test
RUN_MS = 60_000


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if not (DIST / "index.html").exists():
        pytest.skip("the page isn't built (npm ci && npm run build in clients/web)")
    folder = tmp_path_factory.mktemp("real")
    build_sample(folder / "before.ifc")
    shutil.copy(folder / "before.ifc", folder / "model.ifc")
    with serve(folder / "state", folder / "model.ifc", pace=TOKENS_PER_SECOND) as server:
        yield server


@pytest.fixture
def signed_in(browser: Browser, real: Served) -> Iterator[tuple[Page, Watch]]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(RUN_MS)
    watch = Watch(context, real.address.url)
    page = context.new_page()
    page.goto(f"{real.address.url}/#token={real.address.token}")
    yield page, watch
    context.close()


def test_a_person_sees_the_whole_job_done(signed_in: tuple[Page, Watch], real: Served) -> None:
    page, watch = signed_in
    expect(page.get_by_test_id("rehearsal-badge")).to_be_visible()
    expect(page.get_by_test_id("example").first).to_have_text(ASK)
    send(page, ASK)

    writing = page.locator('[data-testid="tool-card"][data-stage="writing"]').get_by_test_id("script")
    expect(writing).to_be_visible(timeout=RUN_MS)
    first = writing.text_content() or ""
    expect(writing).not_to_have_text(first)
    assert page.get_by_test_id("end").count() == 0, "the script grew before the run had ended"

    expect(page.get_by_test_id("end")).to_contain_text("Done", timeout=RUN_MS)
    doors = doors_on(real.model.with_name("before.ifc"), "Level 2")
    last = page.get_by_test_id("tool-card").last
    expect(last.get_by_test_id("outcome")).to_contain_text("Committed")
    expect(last.get_by_test_id("report-row")).to_have_count(len(doors))
    expect(last.get_by_test_id("picture")).to_be_visible()
    last.get_by_test_id("script").locator("summary").click()
    expect(last.get_by_test_id("diff").locator(".added .text")).to_contain_text(["attributes={"])
    assert changed_ids(real.model.with_name("before.ifc"), real.model) == (set(), doors, set())
    assert watch.complaints == []
    assert watch.foreign() == []


def test_stop_ends_a_run_and_the_session_takes_the_next_message(signed_in: tuple[Page, Watch]) -> None:
    page, _ = signed_in
    send(page, ASK)
    expect(page.locator('[data-testid="tool-card"][data-stage="writing"]')).to_be_visible(timeout=RUN_MS)

    page.get_by_test_id("stop").click()

    expect(page.get_by_test_id("end")).to_contain_text("Stopped", timeout=RUN_MS)
    send(page, "What is in this model?")
    expect(page.get_by_test_id("end").last).to_contain_text("Done", timeout=RUN_MS)


def test_a_page_reloaded_twenty_times_shows_what_an_untouched_page_shows(signed_in: tuple[Page, Watch]) -> None:
    page, watch = signed_in
    send(page, ASK)
    expect(page.locator('[data-testid="tool-card"]').first).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)

    for _ in range(20):
        other.reload()

    expect(page.get_by_test_id("end")).to_contain_text("Done", timeout=RUN_MS)
    expect(other.get_by_test_id("end")).to_contain_text("Done", timeout=RUN_MS)
    assert other.get_by_test_id("log").text_content() == page.get_by_test_id("log").text_content()
    assert watch.complaints == []
