"""What a long run tells of itself: what edits changed, thousands of elements, a shortened conversation, a limit."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stub import Stub
from tests.browser.watched import Watch, send

REPORT = "/api/results/" + "d" * 64
LIMITED = pytest.mark.parametrize("log", ["limited"])


def run(page: Page, stub: Stub) -> None:
    stub.release("summed up")
    send(page, "Now EI 30, and four digits")
    expect(page.get_by_test_id("end")).to_be_visible()


@LIMITED
def test_edits_are_shown_as_what_they_changed(page: Page, stub: Stub, log: str) -> None:
    run(page, stub)
    script = page.get_by_test_id("script").first
    script.locator("summary").click()
    lines = script.get_by_test_id("diff").locator(".line")
    assert [line.inner_text() for line in lines.all()][:6] == [
        "1 unchanged line",
        "22 import ifcopenshell.api.pset",
        "33 import ifcopenshell.util.element",
        "44 ",
        '5−\nremoved:\nRATING = "EI 60"',
        '5+\nadded:\nRATING = "EI 30"',
    ]
    expect(script.locator(".gap")).to_have_text(["1 unchanged line", "6 unchanged lines"])
    expect(script.locator(".added .number:nth-child(2)")).to_have_text(["5", "18", "19"])
    expect(script.locator(".removed .number:nth-child(1)")).to_have_text(["5", "18", "22"])


@LIMITED
def test_many_elements_are_shown_by_group_and_all_of_them_on_demand(
    page: Page, stub: Stub, watch: Watch, log: str
) -> None:
    run(page, stub)
    report = page.get_by_test_id("report")
    groups = report.get_by_test_id("report-group")
    cells = [row.get_by_role("cell").all_inner_texts() for row in groups.all()]
    assert cells == [
        ["changed", "IfcDoor", "4,000", "Tag (various)", "Porte · 1"],
        ["changed", "IfcWindow", "2,000", "Pset_WindowCommon.FireRating none → EI 30", "Fenêtre · 3"],
    ]
    expect(report.get_by_test_id("report-row")).to_have_count(0)
    assert stub.scenario.asked("GET", REPORT) == []

    button = report.get_by_role("button", name="Show all 6,000 elements")
    button.press("Enter")
    rows = report.get_by_test_id("report-row")
    expect(rows).to_have_count(200)
    expect(report.get_by_test_id("page")).to_have_text("1 to 200 of 6,000")
    assert len(stub.scenario.asked("GET", REPORT)) == 2, "the report is larger than one piece"
    hide = report.get_by_role("button", name="Hide the elements")
    expect(hide).to_be_focused()
    expect(hide).to_have_attribute("aria-expanded", "true")
    hide.click()
    expect(rows).to_have_count(0)
    assert watch.complaints == []
    assert watch.foreign() == []


@LIMITED
def test_pages_of_elements_are_turned_by_keyboard_to_the_last(page: Page, stub: Stub, log: str) -> None:
    run(page, stub)
    page.get_by_test_id("show-elements").click()
    rows = page.get_by_test_id("report-row")
    box = page.get_by_role("group", name="Changed elements", exact=True)
    expect(rows.first).to_contain_text("Porte · 1D-0001Level 2Tag D1 → D-0001")
    box.evaluate("box => { box.scrollTop = box.scrollHeight }")
    following = page.get_by_role("button", name="Next")
    following.focus()
    page.keyboard.press("Enter")
    expect(rows.first).to_contain_text("Fenêtre · 201")
    assert box.evaluate("box => box.scrollTop") == 0
    for _ in range(28):
        page.keyboard.press("Enter")
    expect(page.get_by_test_id("page")).to_have_text("5,801 to 6,000 of 6,000")
    expect(rows.last).to_contain_text("Fenêtre · 6000")
    expect(following).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("page")).to_have_text("5,801 to 6,000 of 6,000")
    expect(following).to_be_focused()


@LIMITED
def test_a_report_that_cannot_be_loaded_says_so_and_can_be_asked_for_again(page: Page, stub: Stub, log: str) -> None:
    run(page, stub)
    page.route(f"**{REPORT}*", lambda route: route.abort(), times=1)
    page.get_by_test_id("show-elements").click()
    expect(page.get_by_role("alert")).to_contain_text("The elements can't be loaded.")
    page.get_by_test_id("show-elements").click()
    page.get_by_test_id("show-elements").click()
    expect(page.get_by_test_id("report-row")).to_have_count(200)
    expect(page.get_by_role("alert")).to_have_count(0)


@LIMITED
def test_the_wait_for_a_summary_is_shown_and_then_that_the_conversation_was_shortened(
    page: Page, stub: Stub, log: str
) -> None:
    send(page, "Now EI 30, and four digits")
    expect(page.get_by_test_id("waiting")).to_have_text("The conversation is long; the model sums it up.")
    expect(page.get_by_test_id("status")).to_have_text("The conversation is long; the model sums it up.")
    stub.release("summed up")
    expect(page.get_by_test_id("marker").first).to_have_text(
        "The conversation was shortened from about 148,000 to about 21,000 tokens. You still have all of it."
    )
    expect(page.get_by_test_id("waiting")).to_have_count(0)


@LIMITED
def test_a_run_that_ended_at_a_limit_says_which(page: Page, stub: Stub, log: str) -> None:
    run(page, stub)
    expect(page.get_by_test_id("marker").last).to_have_text(
        "The limit of this request is reached: 8 of 8 automations after a committed one."
    )
    expect(page.get_by_test_id("tool-card").nth(1).get_by_test_id("outcome")).to_have_text("Refused – nothing was run")
    end = page.get_by_test_id("end")
    expect(end).to_have_attribute("data-end", "limit")
    expect(end).to_contain_text("Limit reached: rounds of changes · 6,000 changed")
    expect(page.get_by_test_id("status")).to_have_text("Limit reached: rounds of changes, 6,000 changed")


@LIMITED
def test_notes_stand_between_what_happened_and_what_changed(page: Page, stub: Stub, log: str) -> None:
    run(page, stub)
    parts = page.get_by_test_id("result").first.locator("> *").evaluate_all("all => all.map(e => e.dataset.testid)")
    assert parts == ["summary", "notes", "report", None]


def test_examples_fill_the_message_box_and_do_not_send(page: Page, stub: Stub) -> None:
    examples = page.get_by_test_id("example")
    expect(examples).to_have_text(stub.scenario.host["examples"][:4])
    examples.nth(2).press("Enter")
    box = page.get_by_label("Ask for a change or a question")
    expect(box).to_have_value("Which windows and doors are not hosted in a wall?")
    expect(box).to_be_focused()
    assert stub.scenario.posts == []
    page.keyboard.type(" Why?")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("tool-card").first).to_be_visible()
    expect(examples).to_have_count(0)
    assert [post["message"] for post in stub.scenario.posts] == [
        "Which windows and doors are not hosted in a wall? Why?"
    ]
