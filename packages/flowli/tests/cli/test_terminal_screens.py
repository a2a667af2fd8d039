"""Screens on a terminal: nothing is wider than it, and what is to be copied stays whole."""

from __future__ import annotations

import re

import pytest

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def screen(flowli, monkeypatch):
    """Print a command as on a terminal of some width."""

    def show(width: int, *arguments: str, code: int = 0) -> list[str]:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        text = flowli(*arguments, code=code)
        monkeypatch.delenv("FORCE_COLOR")
        return [ANSI.sub("", line).rstrip() for line in text.replace("\r", "\n").splitlines()]

    return show


@pytest.fixture
def purchase(flowli) -> str:
    eid = flowli("start", "purchase", "--arg", 'order={"id": "INV-1", "cents": 5}', "--key", "order:" + "1" * 90)
    flowli("start", "stumble")
    flowli("start", "fail")
    flowli.work()
    return eid.strip()


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(
    "command",
    ["list --columns +key,created,attributes", "show", "explain", "timeline --values", "graph", "inspect", "journal"],
)
def test_no_line_is_wider_than_the_terminal(screen, purchase, width, command):
    name, *options = command.split()
    lines = screen(width, name, *([] if name == "list" else [purchase]), *options)
    assert len(lines) > 2
    assert [line for line in lines if len(line) > width and not line.startswith("  flowli ")] == []


def test_a_command_to_be_copied_is_one_line(screen, purchase):
    lines = screen(60, "explain", purchase)
    assert f"  flowli signal {purchase} parcels --json PAYLOAD" in lines
    assert "runbook  docs/runbook/waiting_message.md" in lines


def test_watching_on_a_terminal_draws_the_tree_and_says_why(screen, purchase, flowli):
    flowli("cancel", purchase)
    flowli.work()
    lines = screen(80, "watch", purchase, code=1)
    assert any("charge#1" in line and "completed" in line for line in lines)
    assert any(line.startswith("It was cancelled at ") for line in lines)
    assert f"  flowli replay {purchase}" in lines
    assert [line for line in lines if len(line) > 80] == []
