"""Hashes of tasks and futures: by creation number, so that sets of them iterate alike on every run.

``asyncio.wait``, ``TaskGroup`` and ``as_completed`` keep tasks and futures in sets. By default they hash by address,
which differs between a run and its replay. What a ``WorkflowLoop`` creates carries its number; the future of
``asyncio.gather`` is made by asyncio itself and is given one when it is first asked for its hash.
"""

from __future__ import annotations

import asyncio
from asyncio import tasks
from typing import Any

__all__ = ["number_gathers"]


def _hash(future: Any) -> int:
    number: int | None = getattr(future, "_flowli_number", None)
    if number is None:
        next_number = getattr(future.get_loop(), "next_number", None)
        number = object.__hash__(future) if next_number is None else int(next_number())
        future._flowli_number = number
    return number


def number_gathers() -> None:
    """Let the futures of ``asyncio.gather`` hash by number in loops that number; elsewhere nothing changes."""
    gathering: type[asyncio.Future[Any]] | None = getattr(tasks, "_GatheringFuture", None)
    if gathering is not None and gathering.__hash__ is not _hash:
        gathering.__hash__ = _hash  # type: ignore[assignment, method-assign]
