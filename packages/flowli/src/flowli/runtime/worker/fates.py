"""What becomes of a task once its execution has been dealt with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Ack", "Fate", "GiveBack", "SetAside"]


@dataclass(frozen=True, slots=True)
class Ack:
    """The task is done; remove it when ``after`` are durable."""

    after: tuple[asyncio.Task[int], ...] = ()


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The task is not done.

    Attributes:
        reason: for the log.
        delay_s: when it may be taken again; None writes nothing: its lease expires.
        alive: the worker has run it and lives: its deaths no longer count.
    """

    reason: str
    delay_s: float | None
    alive: bool = False


@dataclass(frozen=True, slots=True)
class SetAside:
    """The task is put among the dead; ``cause`` is one sentence."""

    cause: str


Fate: TypeAlias = Ack | GiveBack | SetAside
