"""Findings as a table for people and as one document for scripts."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.cli.doctor.check import Finding, Level, Wishes
from flowli.cli.doctor.latency import CLASSES
from flowli.cli.doctor.rights import NEEDS
from flowli.cli.render.screen import Cell, Screen
from flowli.domain.data import Data

__all__ = ["document", "is_go", "show"]

_STYLES = {Level.GOOD: "green", Level.NOTE: "yellow", Level.BAD: "bold red", Level.NOT_TRIED: "dim"}
_GRANTED: dict[bool | None, Cell] = {True: ("yes", "green"), False: ("no", "red"), None: ("not tried", "dim")}
_BAR = 40


def is_go(found: Sequence[Finding]) -> bool:
    """Whether nothing bad was found."""
    return all(one.level is not Level.BAD for one in found)


def document(url: str, wishes: Wishes, found: Sequence[Finding]) -> Data:
    """All findings as JSON."""
    told: list[Data] = [{"check": one.check, "level": one.level.value, "text": one.text, **one.data} for one in found]
    return {"storage": url, "process": wishes.process, "go": is_go(found), "findings": told}


def show(screen: Screen, url: str, wishes: Wishes, found: Sequence[Finding]) -> None:
    """Write the findings, the table of rights, the histogram and the verdict."""
    rows: list[Sequence[Cell]] = [[(one.level.value, _STYLES[one.level]), one.check, one.text] for one in found]
    screen.table(("", "CHECK", url), rows)
    _rights(screen, found)
    _histogram(screen, found)
    verdict = ("go", "bold green") if is_go(found) else ("no-go", "bold red")
    screen.line("")
    screen.line(verdict, f": a {wishes.process} {'can' if is_go(found) else 'cannot'} work on {url}")


def _rights(screen: Screen, found: Sequence[Finding]) -> None:
    tables = [one.data for one in found if "allowed" in one.data]
    if not tables:
        return
    allowed = tables[0]["allowed"]
    assert isinstance(allowed, dict)
    rows: list[Sequence[Cell]] = []
    for table in tables:
        missing = table["missing"]
        assert isinstance(missing, list)
        process = str(table["process"])
        rows.append([process, *[_right(right, process, missing) for right in allowed]])
    granted = [_GRANTED[yes if isinstance(yes, bool) else None] for yes in allowed.values()]
    screen.line("")
    first: list[Cell] = ["granted", *granted]
    screen.table(("RIGHTS", *allowed), [first, *rows])


def _right(right: str, process: str, missing: Sequence[Data]) -> Cell:
    if right in missing:
        return ("missing", "red")
    return "has" if right in NEEDS[process] else "not needed"


def _histogram(screen: Screen, found: Sequence[Finding]) -> None:
    timed = [one.data for one in found if "histogram" in one.data]
    if not timed:
        return
    counts = {str(data["verb"]): data["histogram"] for data in timed}
    used = [name for name in CLASSES if any(isinstance(one, dict) and one[name] for one in counts.values())]
    rows: list[Sequence[Cell]] = []
    for verb, classes in counts.items():
        assert isinstance(classes, dict)
        rows += [[verb if name == used[0] else "", f"≤ {name}", _bar(classes, name)] for name in used]
    screen.line("")
    screen.table(("LATENCY", "", ""), rows)


def _bar(classes: dict[str, Data], name: str) -> str:
    numbers = {key: value for key, value in classes.items() if isinstance(value, int)}
    return "█" * round(_BAR * numbers[name] / max(1, sum(numbers.values())))
