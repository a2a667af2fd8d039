"""Delays as callers give them."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from flowli.domain.errors import UsageError

__all__ = ["Seconds", "positive"]

Seconds: TypeAlias = float | timedelta
"""A delay: seconds, or a timedelta."""


def positive(what: str, delay: Seconds) -> timedelta:
    """The delay as a timedelta.

    Raises:
        UsageError: it is not above zero; ``what`` names it.
    """
    given = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
    if given <= timedelta(0):
        raise UsageError(f"{what} is {given}; give more than zero")
    return given
