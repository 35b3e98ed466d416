"""Nothing that a model or a document says can become markup, code, or a request."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stub import Stub
from tests.browser.watched import Watch, send

EVIL = "<img src=x onerror=\"document.title='owned'\">"


@pytest.mark.parametrize("log", ["hostile"])
def test_hostile_text_stays_text_and_nothing_leaves_the_origin(page: Page, stub: Stub, watch: Watch, log: str) -> None:
    send(page, f"Rename {EVIL}")
    expect(page.get_by_test_id("end")).to_contain_text("Done")
    expect(page.get_by_test_id("user-message")).to_contain_text(EVIL)
    expect(page.get_by_test_id("message").first).to_contain_text(EVIL)
    expect(page.get_by_test_id("report-row")).to_contain_text(EVIL)
    expect(page.get_by_test_id("output")).to_contain_text(EVIL)
    expect(page.get_by_test_id("notes")).to_contain_text(EVIL)
    expect(page.locator(".card-purpose")).to_contain_text("<script>alert(1)</script>")
    expect(page.get_by_test_id("tool-card")).to_contain_text("The picture can't be shown.")
    assert page.locator("main img, main iframe, main script").count() == 0
    assert "owned" not in page.title().replace(EVIL, "")
    assert watch.foreign() == []
    assert watch.complaints == []


@pytest.mark.parametrize("log", ["hostile"])
def test_only_web_addresses_become_links_and_none_tells_where_it_came_from(page: Page, stub: Stub, log: str) -> None:
    send(page, "Rename")
    expect(page.get_by_test_id("end")).to_contain_text("Done")
    links = page.get_by_test_id("message").get_by_role("link")
    assert [link.get_attribute("href") for link in links.all()] == [
        "https://evil.example/?q=secret",
        "https://evil.example/auto",
        "https://evil.example/page",
    ]
    assert {link.get_attribute("rel") for link in links.all()} == {"noreferrer noopener"}
    expect(page.get_by_test_id("message").first).to_contain_text("[click me](javascript:alert(1))")


@pytest.mark.parametrize("log", ["malformed"])
def test_a_result_that_cannot_be_drawn_leaves_the_rest_of_the_page_standing(page: Page, stub: Stub, log: str) -> None:
    send(page, "Rename")
    expect(page.get_by_test_id("undrawable")).to_contain_text("This part can't be shown.")
    expect(page.get_by_test_id("message")).to_have_text("Done.")
    expect(page.get_by_test_id("end")).to_contain_text("Done")
