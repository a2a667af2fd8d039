"""What people do with the operator interface."""

from __future__ import annotations

import os
import re
import signal

import pytest
from playwright.async_api import Page, expect

from flowli_patterns.schedule.when import Cron

from .conftest import PATIENCE_MS, Office, Visits, picture

pytestmark = pytest.mark.asyncio(loop_scope="session")
expect.set_options(timeout=PATIENCE_MS)

SUSPENDED = "[data-status=suspended]"


def eid_of(page: Page) -> str:
    found = re.search(r"executions/([0-9a-f-]{36})", page.url)
    assert found is not None, page.url
    return found[1]


async def test_an_invoice_is_started_answered_and_watched_until_it_is_paid(visit: Visits, office: Office, fresh: str):
    page = await visit()
    await page.get_by_role("link", name="Start").first.click()
    await page.get_by_role("combobox", name="Workflow").fill("approve")
    await page.get_by_role("option", name="approve_invoice").click()
    for label, text in {
        "Number": f"INV-{fresh}",
        "Supplier": "Nordlicht IT",
        "Amount": "812.50",
        "Due": "2026-12-24",
    }.items():
        await page.get_by_label(label).fill(text)
    await page.get_by_role("button", name="Start").click()

    panel = page.get_by_role("region", name="Why it stands here")
    await expect(panel).to_contain_text("It waits for a message on channel 'decision'")
    await expect(page.get_by_role("heading", level=1)).to_have_text("approve_invoice")
    await expect(page.locator("[data-fid='root/decision#1']")).to_contain_text("waiting")

    await panel.get_by_role("button", name="Send the message").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Channel")).to_have_value("decision")
    await dialog.get_by_label("Message").fill('{"approved": true, "by": "Ada"}')
    await picture(page, "a message")
    await dialog.get_by_role("button", name="Send a message").click()

    await expect(page.locator("h1 + [data-status]")).to_have_text("completed")
    await expect(page.locator("[data-fid='root/pay#1']")).to_contain_text("completed")
    await page.get_by_role("tab", name="Values").click()
    await expect(page.get_by_text("812.50")).to_have_count(0)
    await page.get_by_role("button", name="Show result").click()
    await expect(page.get_by_role("group", name="Result")).to_contain_text('"paid": "812.50"')
    await picture(page, "an invoice is paid")


async def test_a_review_is_decided_with_its_form(visit: Visits, office: Office, fresh: str):
    number = f"INV-{fresh}"
    eid = await office.engine.start("book_invoice", number, version="1")
    page = await visit(f"/executions/{eid}")
    await page.get_by_role("link", name="Decide it").click()
    review = page.get_by_role("article", name=f"Book {number}")
    await review.get_by_label("Account").fill("4711")
    await review.get_by_role("combobox", name="Costs").click()
    await page.get_by_role("option", name="travel").click()
    await review.get_by_role("button", name="Approve").click()
    await expect(review).to_contain_text("approve by local")
    assert await office.engine.result(eid, timeout=PATIENCE_MS / 1000) == f"{number} approve 4711 travel"


async def test_the_explanation_tells_that_a_worker_died_and_another_one_goes_on(
    visit: Visits, office: Office, fresh: str
):
    pipe, queue = office.folder / f"pipe-{fresh}", f"letters-{fresh}"
    os.mkfifo(pipe)
    eid = await office.engine.start("print_letter", str(pipe), version="1", queue=queue)
    page = await visit(f"/executions/{eid}")
    panel = page.get_by_role("region", name="Why it stands here")
    await expect(panel.locator("[data-reason]").first).to_contain_text("No worker has ever listened")

    first = office.worker("printer", queue=queue)
    await expect(page.locator("[data-fid='root/read#1']")).to_contain_text("running")
    first.send_signal(signal.SIGKILL)
    await expect(panel).to_contain_text("has not renewed its lease")
    await expect(panel).to_contain_text("Worker printer")
    await picture(page, "a worker died")
    office.worker("second printer", queue=queue)
    with pipe.open("w") as file:
        file.write("Dear Ada")
    await expect(page.locator("h1 + [data-status]")).to_have_text("completed")


async def test_filters_stand_in_the_address_and_a_filter_that_finds_nothing_says_so(
    visit: Visits, office: Office, fresh: str
):
    key = f"K-{fresh}"
    failed = await office.engine.start("look_up", 9, version="1", key=key)
    page = await visit()
    await page.get_by_role("button", name="failed").click()
    await expect(page.locator(f"#row-{failed}")).to_contain_text("there is no account 9")
    await expect(page).to_have_url(re.compile(r"#/executions\?status=failed$"))
    await page.get_by_label("Text", exact=True).fill(key)
    await expect(page).to_have_url(re.compile(f"text={key}"))
    await page.reload()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.get_by_label("Text", exact=True).fill("no such thing")
    await expect(page.get_by_text("No execution fits")).to_be_visible()
    await page.get_by_role("button", name="Clear").click()
    await expect(page.locator(f"#row-{failed}")).to_be_visible()


async def test_several_are_paused_after_a_dry_run(visit: Visits, office: Office, fresh: str):
    eids = [
        await office.engine.start("book_invoice", f"INV-{one}", version="1", key=f"{fresh}-bulk-{one}")
        for one in (1, 2)
    ]
    page = await visit(f"/executions?status=suspended&text={fresh}-bulk-")
    for eid in eids:
        await page.locator(f"#row-{eid}").get_by_role("checkbox").check()
    await page.get_by_role("button", name="Pause…").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("will be touched")).to_have_count(2)
    await dialog.get_by_label("Reason").fill("the books are closed")
    await picture(page, "a dry run")
    await dialog.get_by_role("button", name="Pause 2").click()
    await expect(dialog.get_by_role("cell", name="done")).to_have_count(2)
    await dialog.get_by_role("button", name="Done").click()
    await page.locator(f"#row-{eids[0]}").get_by_role("link").click()
    await expect(page.get_by_role("region", name="Why it stands here")).to_contain_text("the books are closed")


async def test_a_schedule_is_paused_and_run_by_hand(visit: Visits, office: Office, fresh: str):
    name = f"yearly-{fresh}"
    await office.engine.schedules.add(name, "look_up", Cron("@yearly"), version="1", kwargs={"account": 5})
    page = await visit()
    await page.get_by_role("link", name="Schedules").click()
    schedule = page.get_by_role("region", name=f"Schedule {name}")
    await schedule.get_by_role("button", name="Pause").click()
    await expect(schedule.locator("[data-status]")).to_have_text("paused")
    await schedule.get_by_role("button", name="Run now").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("look_up")
    await expect(page.locator("h1 + [data-status]")).to_have_text("failed")


async def test_the_list_is_walked_by_keys(visit: Visits, office: Office, fresh: str):
    eid = await office.engine.start("look_up", 3, version="1", key=f"keys-{fresh}")
    page = await visit(f"/executions?text=keys-{fresh}")
    await expect(page.locator(f"#row-{eid}")).to_contain_text("failed")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(str(eid)))
    await page.locator("[data-fid='root/missing#1'] button").first.click()
    detail = page.locator("[data-fid='root/missing#1']")
    await expect(detail.get_by_text("LookupError: there is no account 3").first).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Executions")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await page.keyboard.press("/")
    await expect(page.get_by_label("Find executions")).to_be_focused()


async def test_a_stranger_is_asked_for_a_token(visit: Visits, office: Office):
    page = await visit(token=False)
    await page.get_by_label("Token", exact=True).fill("not the token")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_text("The service does not know this token.")).to_be_visible()
    await page.get_by_label("Token", exact=True).fill(office.address.partition("token=")[2])
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Executions")
    await page.get_by_role("button", name="Account").click()
    await page.get_by_role("menuitem", name="Log out").click()
    await expect(page.get_by_label("Token", exact=True)).to_be_visible()
    # the browser itself tells of the answer 401
    visit.complaints[:] = [one for one in visit.complaints if "401" not in one]


async def test_an_execution_that_does_not_exist_is_told_with_the_words_of_the_service(visit: Visits):
    page = await visit("/executions/01970000-0000-7000-8000-000000000000")
    await expect(page.get_by_role("alert")).to_contain_text("No such execution")
    visit.complaints[:] = [one for one in visit.complaints if "404" not in one]
