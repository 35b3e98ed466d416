"""The page fits a phone and a desk, by day and by night, and says what it is to a reader of any kind."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stub import DIST, Stub
from tests.browser.watched import Watch, send

AXE = DIST.parent / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = [390, 1280]


def play(page: Page, stub: Stub) -> None:
    """A whole run, with everything on the page that can be opened opened."""
    stub.release("script")
    stub.release("result")
    stub.release("summed up")
    send(page, "Go")
    expect(page.get_by_test_id("end")).to_be_visible()
    for button in page.get_by_test_id("show-elements").all():
        button.click()
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")


@pytest.mark.parametrize("log", ["doors", "mended", "hostile", "limited"])
def test_the_page_never_scrolls_sideways(page: Page, stub: Stub, log: str) -> None:
    play(page, stub)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        for box in ("document.documentElement", "document.querySelector('.scroller')"):
            assert page.evaluate(f"() => {box}.scrollWidth - {box}.clientWidth") == 0, (width, box)


@pytest.mark.parametrize("log", ["doors", "mended", "limited"])
def test_axe_finds_nothing_on_phone_and_desk_by_day_and_night(page: Page, stub: Stub, log: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core isn't installed (npm ci in clients/web)")
    play(page, stub)
    page.evaluate(AXE.read_text("utf-8"))
    for width, scheme in [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("async () => (await axe.run()).violations")
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == [], (width, scheme)


def test_the_outline_has_one_heading_landmarks_a_log_and_a_status(page: Page, stub: Stub, watch: Watch) -> None:
    send(page, "Renumber")
    expect(page.get_by_role("log")).to_have_attribute("aria-busy", "true")
    assert page.get_by_role("heading", level=1).all_text_contents() == ["Drafthand"]
    for role in ("banner", "navigation", "main", "status"):
        assert page.get_by_role(role).count() == 1
    stub.release("script")
    stub.release("result")
    expect(page.get_by_role("status")).to_have_text("Done: 1 added, 3 changed")
    expect(page.get_by_role("log")).to_have_attribute("aria-busy", "false")
    assert watch.complaints == []


def test_on_a_phone_the_sessions_are_behind_a_button(page: Page, stub: Stub) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    link = page.get_by_role("link", name="What is in this model?")
    expect(link).to_be_hidden()
    button = page.get_by_role("button", name="Sessions")
    button.click()
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    button.click()
    link.click()
    expect(page).to_have_url(f"{stub.url}/#/s/s0")
    expect(link).to_be_hidden()


def test_reading_further_up_is_not_disturbed_by_what_is_written(page: Page, stub: Stub) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    send(page, "Renumber")
    expect(page.locator('[data-stage="writing"] .code')).to_contain_text("yield door")
    scroller = page.locator(".scroller")
    scroller.evaluate("box => { box.scrollTop = 0 }")
    expect(page.get_by_test_id("jump")).to_be_visible()
    stub.release("script")
    stub.release("result")
    expect(page.get_by_test_id("end")).to_be_attached()
    assert scroller.evaluate("box => box.scrollTop") == 0
    page.get_by_test_id("jump").click()
    expect(page.get_by_test_id("end")).to_be_in_viewport()
    expect(page.get_by_test_id("jump")).to_have_count(0)
