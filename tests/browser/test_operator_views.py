"""Every view, on a desk and on a phone, bright and dark: accessible, and nothing sticks out."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from flowli_patterns.schedule.when import Cron

from .conftest import PATIENCE_MS, Office, Visits, picture

pytestmark = pytest.mark.asyncio(loop_scope="session")
expect.set_options(timeout=PATIENCE_MS)

SIZES = {"desk": {"width": 1280, "height": 860}, "phone": {"width": 390, "height": 844}}
PLAIN = ["executions", "start/approve_invoice", "reviews", "queues", "schedules", "workflows", "system"]
TABS = ["frames", "graph", "timeline", "values", "logs", "children", "journal", "audit"]
DIALOGS = [
    ("schedules", ("button", "New schedule")),
    ("executions/{waiting}", ("button", "More actions"), ("menuitem", "Ask it…")),
]
RULES: dict[str, object] = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
IN_DIALOGS: dict[str, object] = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
"""Best practice for landmarks counts the header of the page and that of a dialog, while the dialog covers the page."""


async def look(page: Page, axe: str, name: str, rules: dict[str, object] = RULES) -> list[str]:
    """What is wrong with a page that is shown; a picture of it if a folder is named for them."""
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)
    await picture(page, name)
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(axe)
    found = await page.evaluate("rules => axe.run(document, rules)", rules)
    wrong = [f"{name}: {one['id']} {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]
    width, room = await page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    return [*wrong, *([f"{name}: {width} of {room} pixels"] if width > room else [])]


@pytest.mark.parametrize(("size", "scheme"), [("desk", "light"), ("phone", "dark")])
async def test_every_view_is_accessible_and_fits(
    visit: Visits, office: Office, axe: str, fresh: str, size: str, scheme: str
):
    await office.engine.schedules.add(
        f"monthly-{fresh}", "look_up", Cron("0 2 1 * *"), version="1", kwargs={"account": 1}
    )
    waiting = await office.engine.start("book_invoice", "INV-9", version="1", key=f"view-{fresh}")
    failed = await office.engine.start("look_up", 1, version="1")
    page = await visit(f"/executions/{failed}", viewport=SIZES[size], color_scheme=scheme)
    await expect(page.locator("h1 + [data-status]")).to_have_text("failed")
    assert await page.evaluate("() => document.documentElement.dataset.mantineColorScheme") == scheme
    base = page.url.partition("#")[0]
    views = [*PLAIN, f"executions/{failed}/frames", *(f"executions/{waiting}/{tab}" for tab in TABS)]
    wrong: list[str] = []
    for view in views:
        await page.goto(f"{base}#/{view}")
        await page.get_by_role("heading", level=1).wait_for()
        wrong += await look(page, axe, f"{size}-{scheme}-{view}")
    for view, *buttons in DIALOGS:
        await page.goto(f"{base}#/{view.format(waiting=waiting)}")
        for role, name in buttons:
            await page.get_by_role(role, name=name).click()
        await page.get_by_role("dialog").get_by_role("button", name="Close").last.wait_for()
        await expect(page.get_by_role("menu")).to_have_count(0)  # it fades out
        wrong += await look(page, axe, f"{size}-{scheme}-{buttons[-1][1]}", IN_DIALOGS)
    assert wrong == [], "\n".join(wrong)


async def test_the_scheme_can_be_chosen_and_is_kept(visit: Visits):
    page = await visit(color_scheme="light")
    await page.get_by_role("button", name="Dark mode").click()
    await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
