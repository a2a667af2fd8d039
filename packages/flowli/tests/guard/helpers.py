"""Code of a project beside its workflows, with functions imported by name before any guard was up."""

from __future__ import annotations

import random
import uuid
from datetime import date, datetime
from random import randint
from time import monotonic, time
from uuid import uuid4

__all__ = ["clock", "day", "dice", "fresh_id", "later", "moment", "seconds", "total"]


def clock() -> float:
    return time()


def seconds() -> float:
    return monotonic()


def moment() -> datetime:
    return datetime.now()


def day() -> date:
    return date.today()


def dice() -> int:
    return randint(1, 6)


def fresh_id() -> uuid.UUID:
    return uuid4()


def later() -> float:
    def inner() -> float:
        return time()

    return inner()


def total(n: int) -> int:
    """Work in which every call would be looked at."""
    return sum(abs(i) for i in range(n))


class Dealer:
    """A class of the project."""

    def deal(self) -> float:
        return random.random()

    def when(self) -> datetime:
        return datetime.now()
