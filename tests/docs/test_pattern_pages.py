"""Every page of a pattern runs, and prints what it says."""

from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "patterns"
PATTERNS = ["delegate", "fan-out", "on-tick", "review", "saga", "schedules", "coordinate"]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_does_what_its_page_says(runner, page_blocks, capsys, name):
    page = PAGES / f"{name}.md"
    runner.run(page)
    shown = next(block.text for block in page_blocks(page) if block.language == "text")
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("name", PATTERNS)
def test_a_page_says_when_what_is_guaranteed_what_it_costs_and_how_it_looks(name):
    text = (PAGES / f"{name}.md").read_text()
    parts = ("When.", "Guarantees.", "What it costs.", "In the journal.", "In the interface.")
    assert [part for part in parts if f"**{part}**" not in text] == []
