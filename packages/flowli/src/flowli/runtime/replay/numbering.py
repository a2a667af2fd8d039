"""Hashes of tasks and futures: by creation number, so that sets of them iterate alike on every run.

``asyncio.wait``, ``TaskGroup`` and ``as_completed`` keep tasks and futures in sets. By default they hash by address,
which differs between a run and its replay. What a ``WorkflowLoop`` creates carries its number; the future of
``asyncio.gather`` is made by asyncio itself and is given one when it is first asked for its hash.
"""

from __future__ import annotations

import asyncio
from asyncio import tasks
from typing import Any, Protocol, runtime_checkable

__all__ = ["Numbering", "number_gathers"]


@runtime_checkable
class Numbering(Protocol):
    """A loop that numbers."""

    def next_number(self) -> int:
        """Numbers tasks and futures in the order of their creation."""


def _hash(future: Any) -> int:
    number: int | None = getattr(future, "_flowli_number", None)
    if number is None:
        loop = future.get_loop()
        number = loop.next_number() if isinstance(loop, Numbering) else object.__hash__(future)
        future._flowli_number = number
    return number


def number_gathers() -> None:
    """Let the futures of ``asyncio.gather`` hash by number in loops that number; elsewhere nothing changes."""
    gathering: type[asyncio.Future[Any]] | None = getattr(tasks, "_GatheringFuture", None)
    if gathering is not None and gathering.__hash__ is not _hash:
        gathering.__hash__ = _hash  # type: ignore[assignment, method-assign]
