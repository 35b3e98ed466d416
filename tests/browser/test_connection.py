"""The page outlives its connections: reloads, drops, stops, strangers' tokens."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.stub import TOKEN, Stub
from tests.browser.watched import Watch, send


def test_the_token_leaves_the_address_bar_and_survives_a_reload(page: Page, stub: Stub) -> None:
    expect(page.get_by_test_id("host-pill")).to_contain_text("IFC · Duplex_A.ifc")
    assert TOKEN not in page.url
    page.reload()
    expect(page.get_by_test_id("host-pill")).to_have_attribute("data-state", "online")


def test_without_a_token_the_page_says_where_to_get_one(context: BrowserContext, stub: Stub) -> None:
    page = context.new_page()
    page.goto(stub.url)
    expect(page.get_by_test_id("sign-in")).to_contain_text("Open the link that the server printed")
    assert [path for _, path, _ in stub.scenario.requests if path.startswith("/api/")] == []
    page.get_by_label("Or paste the link or the token here").fill(f"{stub.url}/#token={TOKEN}")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_test_id("host-pill")).to_have_attribute("data-state", "online")


def test_a_token_that_is_no_longer_good_leads_back_to_the_sign_in(context: BrowserContext, stub: Stub) -> None:
    page = context.new_page()
    page.goto(f"{stub.url}/#token=old")
    expect(page.get_by_role("alert")).to_contain_text("didn't accept the token")


def test_a_reload_in_the_middle_shows_the_same_and_follows(page: Page, stub: Stub) -> None:
    send(page, "Renumber the doors")
    script = page.locator('[data-stage="writing"] .code')
    expect(script).to_contain_text("yield door")
    before = page.get_by_test_id("run").inner_text()
    assert page.url.endswith("#/s/s1")
    page.reload()
    expect(script).to_contain_text("yield door")
    assert page.get_by_test_id("run").inner_text() == before
    stub.release("script")
    stub.release("result")
    expect(page.get_by_test_id("end")).to_contain_text("Done")
    assert len(stub.scenario.posts) == 1


@pytest.mark.parametrize("log", ["dropped"])
def test_a_dropped_connection_goes_on_where_it_was(page: Page, stub: Stub, watch: Watch, log: str) -> None:
    send(page, "What is in this model?")
    expect(page.get_by_test_id("message")).to_have_text("There are")
    stub.release("seen")
    expect(page.get_by_test_id("end")).to_contain_text("Done")
    expect(page.get_by_test_id("message")).to_have_text(["There are 14 doors, 57 walls and 21 spaces."])
    resumed = [headers["last-event-id"] for headers in stub.scenario.asked("GET", "/api/runs/r1/events")]
    assert resumed == ["4", "5", "7"]
    assert len(stub.scenario.posts) == 1
    expect(page.get_by_test_id("reconnecting")).to_have_count(0)
    assert [text for text in watch.complaints if "ERR_INCOMPLETE_CHUNKED_ENCODING" not in text] == []


@pytest.mark.parametrize("log", ["stopped"])
def test_stop_takes_the_place_of_send_and_asks_the_server(page: Page, stub: Stub, log: str) -> None:
    send(page, "Move every wall by 10 mm")
    expect(page.get_by_test_id("stage")).to_contain_text("Waiting for the host to take it")
    expect(page.get_by_test_id("send")).to_have_count(0)
    page.get_by_test_id("stop").click()
    expect(page.get_by_test_id("end")).to_contain_text("Stopped · You stopped the run. Nothing was run")
    expect(page.get_by_test_id("status")).to_have_text("Stopped")
    assert len(stub.scenario.asked("POST", "/api/runs/r1/cancel")) == 1
    expect(page.get_by_test_id("tool-card")).to_have_attribute("data-stage", "unanswered")
    expect(page.get_by_test_id("send")).to_be_visible()


@pytest.mark.parametrize("log", ["offline"])
def test_a_host_that_is_gone_is_named_while_the_run_waits(page: Page, stub: Stub, log: str) -> None:
    send(page, "How many doors?")
    expect(page.get_by_test_id("stage")).to_contain_text("Waiting for IFC: it is offline · 0:4")
    expect(page.get_by_test_id("host-pill")).to_have_attribute("data-state", "offline")
    stub.release("offline")
    expect(page.get_by_test_id("end")).to_contain_text("the document is as it was")


@pytest.mark.parametrize("log", ["stopped"])
def test_a_second_tab_shows_the_same_run_and_can_stop_it(
    page: Page, context: BrowserContext, stub: Stub, log: str
) -> None:
    send(page, "Move every wall by 10 mm")
    expect(page.get_by_test_id("stop")).to_be_visible()
    other = context.new_page()
    other.goto(f"{stub.url}/#/s/s1")
    expect(other.get_by_test_id("stop")).to_be_visible()
    other.get_by_test_id("stop").click()
    expect(page.get_by_test_id("end")).to_contain_text("Stopped")
    expect(other.get_by_test_id("end")).to_contain_text("Stopped")


@pytest.mark.parametrize("log", ["stopped"])
def test_a_run_started_elsewhere_appears_in_the_open_session(page: Page, stub: Stub, log: str) -> None:
    page.goto(f"{stub.url}/#/s/s1")
    expect(page.get_by_test_id("welcome")).to_be_visible()
    stub.scenario.started = True
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_test_id("stop")).to_be_visible()
    expect(page.get_by_test_id("user-message")).to_contain_text("Move every wall by 10 mm")


def test_a_finished_session_is_read_again_whole(page: Page, stub: Stub, watch: Watch) -> None:
    stub.release("script")
    stub.release("result")
    send(page, "Renumber the doors")
    expect(page.get_by_test_id("end")).to_contain_text("Done")
    page.get_by_test_id("new-session").click()
    expect(page.get_by_test_id("welcome")).to_be_visible()
    page.get_by_role("link", name="Renumber doors").click()
    expect(page.get_by_test_id("end")).to_contain_text("Done")
    expect(page.get_by_test_id("tool-card")).to_have_count(2)
    expect(page.get_by_test_id("send")).to_be_visible()
    assert watch.complaints == []
