"""What becomes of a task once its execution has been dealt with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = ["Ack", "Fate", "GiveBack", "SetAside", "Skip"]


class Skip(StrEnum):
    """Why a task was given back, as metrics tell it."""

    ELSEWHERE = "elsewhere"
    LEASE_LOST = "lease_lost"
    STOPPING = "stopping"
    STORAGE = "storage"
    UNKNOWN_CODE = "unknown_code"
    OTHER = "other"


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
        why: the kind of reason, for metrics.
    """

    reason: str
    delay_s: float | None
    alive: bool = False
    why: Skip = Skip.OTHER


@dataclass(frozen=True, slots=True)
class SetAside:
    """The task is put among the dead; ``cause`` is one sentence."""

    cause: str


Fate: TypeAlias = Ack | GiveBack | SetAside
