"""A run from the message to its end, as a person sees it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.stub import Stub
from tests.browser.watched import Watch, send

PROMPT = "Renumber the doors of level 2 from west to east"


def cards(page: Page, stage: str) -> Locator:
    return page.locator(f'[data-testid="tool-card"][data-stage="{stage}"]')


def test_the_script_is_seen_while_the_model_still_writes_it(page: Page, stub: Stub) -> None:
    send(page, PROMPT)
    card = cards(page, "writing")
    expect(card.get_by_test_id("script")).to_contain_text("def doors_of(level):")
    expect(card.get_by_test_id("script")).not_to_contain_text("def position")
    expect(card.get_by_test_id("stage")).to_contain_text("Writing script · 18 lines")
    expect(page.get_by_test_id("status")).to_have_text("Writing script")
    stub.release("script")
    running = cards(page, "running")
    expect(running.get_by_test_id("script")).to_contain_text('{len(doors)} doors, "renumbered" <west to east>')
    expect(running.get_by_test_id("stage")).to_contain_text("IFC is running it")


def test_the_script_shown_is_the_script_sent_character_by_character(page: Page, stub: Stub) -> None:
    stub.release("script")
    send(page, PROMPT)
    shown = cards(page, "running").locator(".code").text_content()
    assert shown in stub.scenario.log["scripts"].values()


def test_the_result_tells_outcome_changes_picture_and_output(page: Page, stub: Stub, watch: Watch) -> None:
    stub.release("script")
    stub.release("result")
    send(page, PROMPT)
    expect(page.get_by_test_id("end")).to_contain_text(
        "Done · 1 added, 3 changed · 2 scripts · 0:41 · 29k tokens (78% cached) · $0.093"
    )
    looked, changed = page.get_by_test_id("tool-card").all()
    expect(looked.get_by_test_id("outcome")).to_have_text("Read – nothing was changed")
    expect(changed.get_by_test_id("outcome")).to_have_text("Committed – the document was changed")
    expect(changed.get_by_test_id("summary")).to_have_text("3 changed, 1 added, 0 deleted.")

    heads = changed.get_by_role("columnheader").all_text_contents()
    assert heads == ["Change", "Category", "Name", "Tag", "Level", "Before → after"]
    expect(changed.get_by_test_id("report-group")).to_have_count(0)  # all elements are named
    rows = changed.get_by_test_id("report-row")
    expect(rows).to_have_count(4)
    expect(rows.nth(2)).to_contain_text("FireRating none → EI 30")

    width = "image => image.complete && image.naturalWidth"
    expect(changed.get_by_role("img", name="Plan, Level 2")).to_be_visible()
    assert changed.get_by_role("img", name="Plan, Level 2").evaluate(
        f"async image => (await image.decode(), ({width})(image))"
    )
    assert page.get_by_test_id("message").last.get_by_role("row").count() == 4
    assert watch.complaints == []
    assert watch.foreign() == []


def test_the_whole_output_is_shown_on_demand(page: Page, stub: Stub) -> None:
    stub.release("script")
    stub.release("result")
    send(page, PROMPT)
    output = page.get_by_test_id("output").nth(1)
    expect(output.locator("pre")).to_have_text("\n".join(f"door {number}" for number in range(1, 11)))
    output.get_by_role("button", name="Show all 60,112 lines").click()
    expect(output.locator("pre")).to_have_count(121)
    text = output.locator(".output-pane").text_content()
    assert text == "".join(f"door {number}\n" for number in range(1, 60_113))


def test_a_picture_opens_in_full_size_and_closes_with_escape(page: Page, stub: Stub) -> None:
    stub.release("script")
    stub.release("result")
    send(page, PROMPT)
    page.get_by_role("button", name="Plan, Level 2: open full size").click()
    dialog = page.get_by_test_id("picture-dialog")
    expect(dialog).to_be_visible()
    box = dialog.get_by_role("img").bounding_box()
    assert box is not None
    assert (round(box["width"]), round(box["height"])) == (900, 600)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("log", ["mended"])
def test_an_error_names_its_line_and_edits_can_be_read_whole(page: Page, stub: Stub, log: str) -> None:
    stub.scenario.model = "rehearsal"
    page.reload()
    send(page, "Every wall needs fire rating EI 60")
    failed, mended = page.get_by_test_id("tool-card").nth(0), page.get_by_test_id("tool-card").nth(1)
    expect(failed.get_by_test_id("outcome")).to_have_text("Failed – all undone, nothing was changed")
    expect(failed.get_by_test_id("script-error")).to_contain_text("AttributeError in line 3")
    expect(failed.locator(".line.wrong")).to_have_text('    wall.FireRating = "EI 60"')

    expect(mended.get_by_test_id("report-group").first).to_contain_text("IfcWallStandardCase54")
    expect(mended.get_by_role("list", name="Notes").get_by_role("listitem")).to_have_count(2)
    mended.get_by_test_id("script").locator("summary").click()
    expect(mended.get_by_test_id("script").locator("summary")).to_have_text("3 edits: 3 lines added, 2 removed")
    expect(mended.get_by_test_id("diff").locator(".removed .text")).to_have_text(
        ['    wall.FireRating = "EI 60"', 'print("done")']
    )
    mended.get_by_test_id("whole-script").click()
    expect(mended.get_by_role("group", name="Whole script")).to_contain_text("for wall in walls:")


@pytest.mark.parametrize("log", ["mended"])
def test_edits_without_a_diff_are_listed_one_by_one(page: Page, stub: Stub, log: str) -> None:
    for event in stub.scenario.log["events"]:
        event.get("metadata", {}).pop("diff", None)
    send(page, "Every wall needs fire rating EI 60")
    mended = page.get_by_test_id("tool-card").nth(1)
    mended.get_by_test_id("script").locator("summary").click()
    expect(mended.locator(".edit-where")).to_have_text(
        ["Before line 1: inserted", "Line 3 replaced by", "Line 4: deleted"]
    )
    expect(mended.get_by_test_id("diff")).to_have_count(0)


def test_a_message_carries_the_choices_made(page: Page, stub: Stub) -> None:
    page.get_by_test_id("mode").select_option("Read-only")
    page.get_by_test_id("model-picker").select_option("Rehearsal – no language model")
    expect(page.get_by_test_id("rehearsal-badge")).to_have_text("Rehearsal – no language model")
    send(page, "How many doors?")
    expect(page.get_by_test_id("user-message")).to_have_text("You" + "Renumber the doors of level 2 from west to east")
    assert stub.scenario.posts == [
        {"message": "How many doors?", "model": "rehearsal", "mode": "read_only", "host_id": "h1"}
    ]
    key = stub.scenario.asked("POST", "/api/runs")[0]["idempotency-key"]
    assert len(key) == 32
