"""Each reason has its page in the runbook, and each page its reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowli.cli.inspect.explain import page_of
from flowli.cli.main import flowli
from flowli.runtime.insight import Reason

ROOT = Path(__file__).parents[4]
PAGES = {path.stem: path for path in (ROOT / "docs" / "runbook").glob("*.md") if path.stem != "index"}


def test_each_reason_has_a_page_and_each_page_a_reason() -> None:
    assert set(PAGES) == {str(reason) for reason in Reason}
    assert {(ROOT / page_of(str(reason))).resolve() for reason in Reason} == {path.resolve() for path in PAGES.values()}


def test_the_index_lists_them_with_their_titles() -> None:
    text = (ROOT / "docs" / "runbook" / "index.md").read_text()
    titles = {name: path.read_text().partition("\n")[0].removeprefix("# ") for name, path in PAGES.items()}
    assert dict(re.findall(r"^\| \[`(\w+)`\]\(\1\.md\) \| (.+) \|$", text, re.MULTILINE)) == titles


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_names_its_reason_and_only_commands_that_exist(name: str) -> None:
    text = PAGES[name].read_text()
    assert f"Reason `{name}` of `flowli explain`." in text
    for section in ("## Why", "## What to do"):
        assert section in text
    for command in re.findall(r"`flowli ([a-z-]+)", text):
        assert command in flowli.list_commands(flowli.make_context("flowli", ["plugins"])), command
