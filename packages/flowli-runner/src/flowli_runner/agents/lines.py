"""Agents that write one JSON object a line: reading what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flowli_runner.agents.agent import Said
from flowli_runner.contracts import Cost

__all__ = ["events", "merged", "number", "whole"]


def events(output: bytes) -> Iterator[dict[str, Any]]:
    """The objects among the lines of an output; other lines are left out."""
    for line in output.splitlines():
        if not line.lstrip().startswith(b"{"):
            continue
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def merged(written: Said, told: Said) -> Said:
    """What an agent wrote into its report file, and beside it what its output tells."""
    return Said(
        outcome=written.outcome or told.outcome,
        summary=written.summary or told.summary,
        claims=written.claims or told.claims,
        resume=written.resume or told.resume,
        session=told.session or written.session,
        cost=told.cost if told.cost != Cost() else written.cost,
    )


def number(found: object) -> float | None:
    """A number, if it is one."""
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def whole(found: object) -> int | None:
    """A whole number, if it is one."""
    return found if isinstance(found, int) and not isinstance(found, bool) else None
