"""Find the end of a log without listing it: a number is present exactly if the log is that long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["last_present"]

T = TypeVar("T")

_WIDTH = 8


async def last_present(read: Callable[[int], Awaitable[T | None]], start: int) -> tuple[int, T | None]:
    """Find the greatest number present, given that ``start`` is (or is 0) and that numbers are dense from there.

    Gallops (1, 2, 4, … ahead) and then narrows, eight requests at a time: O(log n) requests, few round trips.

    Args:
        read: what is under a number, or None.
        start: a number known to be present, or the one before the first.

    Returns:
        The number and what was read there; (start, None) when nothing follows.
    """
    low, found, high = start, None, 0
    step = 2
    # Mostly nothing follows what is known, so that the first question is about one number.
    low, found, high = await _probe(read, [start + 1], low, found)
    while not high:
        numbers = [start + step * 2**i for i in range(_WIDTH)]
        step *= 2**_WIDTH
        low, found, high = await _probe(read, numbers, low, found)
    while high - low > 1:
        gap = high - low
        numbers = sorted({low + gap * i // (_WIDTH + 1) for i in range(1, _WIDTH + 1)} - {low})
        low, found, beyond = await _probe(read, numbers, low, found)
        high = beyond or high
    return low, found


async def _probe(
    read: Callable[[int], Awaitable[T | None]], numbers: list[int], low: int, found: T | None
) -> tuple[int, T | None, int]:
    """The last present and the first absent of ``numbers`` (0: none is absent)."""
    answers = await asyncio.gather(*map(read, numbers))
    for number, answer in zip(numbers, answers, strict=True):
        if answer is None:
            return low, found, number
        low, found = number, answer
    return low, found, 0
