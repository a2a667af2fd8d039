"""What operators change: many executions at once, schedules, questions to an execution."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from .conftest import PATIENCE_MS, Office, Visits, picture

pytestmark = pytest.mark.asyncio(loop_scope="session")
expect.set_options(timeout=PATIENCE_MS)


async def test_all_that_fit_a_filter_are_cancelled_after_a_dry_run(visit: Visits, office: Office, fresh: str):
    for number in range(3):
        await office.engine.start("book_invoice", f"INV-{number}", version="1", key=f"{fresh}-filtered-{number}")
    page = await visit(f"/executions?text={fresh}-filtered-")
    await expect(page.locator("tbody tr [data-status=suspended]")).to_have_count(3)
    await page.get_by_role("button", name="All that fit").click()
    await page.get_by_role("menuitem", name="Cancel all…").click()
    dialog = page.get_by_role("dialog", name="Cancel executions")
    await expect(dialog.get_by_text("will be touched")).to_have_count(3)
    await dialog.get_by_label("Reason").fill("the month is closed")
    await picture(page, "all that fit")
    await dialog.get_by_role("button", name="Cancel 3").click()
    await expect(dialog.get_by_role("cell", name="done")).to_have_count(3)
    await dialog.get_by_role("button", name="Done").click()
    await expect(page.locator("tbody tr [data-status=cancelled]")).to_have_count(3)


async def test_filters_are_kept_under_a_name(visit: Visits):
    page = await visit("/executions?status=failed&workflow=look_up")
    await page.get_by_role("button", name="Views").click()
    await page.get_by_label("Name of the view").fill("Broken look-ups")
    await page.get_by_role("button", name="Save").click()
    await page.goto(f"{page.url.partition('#')[0]}#/executions")
    await page.reload()
    await page.get_by_role("button", name="Views").click()
    await page.get_by_role("link", name="Broken look-ups").click()
    await expect(page).to_have_url(re.compile(r"status=failed&workflow=look_up"))


async def test_a_schedule_is_added_changed_and_removed(visit: Visits, office: Office, fresh: str):
    name = f"nightly-{fresh}"
    page = await visit("/schedules")
    await page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog", name="New schedule")
    await dialog.get_by_label("Name").fill(name)
    await dialog.get_by_role("combobox", name="Workflow").fill("look")
    await page.get_by_role("option", name="look_up").click()
    await dialog.get_by_label("Account").fill("12")
    await dialog.get_by_label("Expression").fill("0 25 * * *")
    await picture(page, "a new schedule")
    await dialog.get_by_role("button", name="Add").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("malformed")
    await dialog.get_by_label("Expression").fill("0 2 * * *")
    await dialog.get_by_role("button", name="Add").click()
    schedule = page.get_by_role("region", name=f"Schedule {name}")
    await expect(schedule).to_contain_text("0 2 * * *")
    assert (await office.engine.schedules.get(name)).schedule.kwargs == {"account": 12}

    await schedule.get_by_role("button", name=f"More actions for {name}").click()
    await page.get_by_role("menuitem", name="Change…").click()
    dialog = page.get_by_role("dialog", name=f"Schedule {name}")
    await expect(dialog.get_by_label("Account")).to_have_value("12")
    await dialog.get_by_role("combobox", name="When").click()
    await page.get_by_role("option", name="At a fixed distance").click()
    await dialog.get_by_label("Distance").fill("2 h 30 min")
    await dialog.get_by_label("Note").fill("while the office moves")
    await dialog.get_by_role("button", name="Change").click()
    await expect(schedule).to_contain_text("every 2 h 30 min")
    await expect(schedule).to_contain_text("while the office moves")

    await schedule.get_by_role("button", name=f"More actions for {name}").click()
    await page.get_by_role("menuitem", name="Remove…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(schedule).to_have_count(0)
    # what was malformed was answered with 422, which the browser tells of itself
    visit.complaints[:] = [one for one in visit.complaints if "422" not in one]


async def test_an_execution_is_asked_and_its_stream_is_watched(visit: Visits, office: Office):
    eid = await office.engine.start("dictate", version="1")
    page = await visit(f"/executions/{eid}/values")
    await page.get_by_role("button", name="Show lines").click()
    stream = page.get_by_role("region", name="Stream: lines")
    await expect(stream.get_by_role("listitem")).to_have_count(2)
    await page.get_by_role("button", name="Show state").click()
    await expect(page.get_by_role("region", name="Published: state")).to_contain_text('"lines": 2')
    await picture(page, "a stream")

    await page.get_by_role("button", name="More actions").click()
    await page.get_by_role("menuitem", name="Ask it…").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name of the update").fill("next_line")
    await dialog.get_by_label("Question").fill('"Yours, Grace"')
    await dialog.get_by_role("button", name="Ask it").click()
    await expect(dialog.get_by_role("status")).to_contain_text('"lines": 3')
    await picture(page, "an answer")
    await dialog.get_by_role("button", name="Close").last.click()
    await expect(stream.get_by_role("listitem").last).to_contain_text("Yours, Grace")
    await expect(page.locator("h1 + [data-status]")).to_have_text("completed")


async def test_the_system_view_shows_the_bill_of_the_requests(visit: Visits):
    page = await visit("/system")
    bill = page.locator("section", has=page.get_by_role("heading", name="Requests to the bucket"))
    await expect(bill.get_by_role("row", name=re.compile("^put done"))).to_have_count(1)
    await expect(bill).to_contain_text("They cost nothing here.")
