"""Capabilities: what a caller may do, as words. The table is the one that routes are checked against."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from flowli.domain.errors import UsageError

__all__ = ["ADMIN", "CAPABILITIES", "allows", "capabilities"]

ADMIN = "admin"
"""Holds every other capability."""

CAPABILITIES: dict[str, str] = {
    "workflows:read": "see the workflows and the schemas of their arguments",
    "executions:read": "see executions, their journals, frames and audit, without values",
    "values:read": "see arguments, results, payloads and tracebacks as well",
    "executions:start": "start executions",
    "executions:signal": "send signals, updates and broadcasts",
    "executions:cancel": "cancel executions",
    "executions:migrate": "move executions to another version",
    "executions:operate": "pause, resume, terminate, fork, replay and retry executions; queues and dead letters",
    "executions:erase": "erase finished executions",
    "reviews:read": "see reviews",
    "reviews:decide:{queue}": "decide the reviews of a queue",
    "queues:read": "see queues, tasks, dead letters and timers",
    "tasks:consume:{queue}": "work on the delegated tasks of a queue",
    "schedules:manage": "make, change and remove schedules",
    "evidence:read": "read attempt logs and attachments",
    ADMIN: "everything",
}
"""Each capability with what it permits. ``{queue}`` stands for the name of a queue, or for ``*``."""

_QUEUE = r"(?:[A-Za-z0-9_-]{1,128}|\*)"
_KNOWN = [re.compile(re.escape(one).replace(re.escape("{queue}"), _QUEUE), re.ASCII) for one in CAPABILITIES]


def capabilities(granted: Iterable[str]) -> frozenset[str]:
    """A set of capabilities, each checked.

    Raises:
        UsageError: one is none; a near one is named.
    """
    found = frozenset(granted)
    for one in sorted(found):
        if not any(known.fullmatch(one) for known in _KNOWN):
            near = difflib.get_close_matches(one, CAPABILITIES, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(CAPABILITIES)}"
            raise UsageError(f"'{one}' is not a capability: {hint}")
    return found


def allows(granted: frozenset[str], wanted: str) -> bool:
    """Whether a set of capabilities permits what ``wanted`` names."""
    if ADMIN in granted or wanted in granted:
        return True
    area, colon, _ = wanted.rpartition(":")
    return bool(colon) and area.count(":") == 1 and f"{area}:*" in granted
