"""Registers the patterns with flowli."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.descriptors import PatternType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def _pattern(name: str) -> Callable[[], Callable[..., Awaitable[object]]]:
    def load() -> Callable[..., Awaitable[object]]:
        from flowli_patterns import public

        found: Callable[..., Awaitable[object]] = getattr(public, name)
        return found

    return load


def flowli_patterns() -> list[PatternType]:
    """What workflows call."""
    return [
        PatternType("delegate", "Have a consumer outside the engine do a piece of work", _pattern("delegate")),
        PatternType("fan_out", "The same work for many items at once, bounded and in order", _pattern("fan_out")),
        PatternType("on_tick", "Do something again and again, on a grid that does not drift", _pattern("on_tick")),
        PatternType("saga", "Actions that are undone in reverse order when a later one fails", _pattern("saga")),
    ]
