"""Registers the patterns with flowli."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.descriptors import CommandType, EngineExtensionType, PatternType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from click import Command


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
        PatternType("review", "Wait for the decision of people; exactly one stands", _pattern("review")),
        PatternType("saga", "Actions that are undone in reverse order when a later one fails", _pattern("saga")),
    ]


def _reviews() -> object:
    from flowli_patterns.review.verbs import Reviews

    return Reviews


def flowli_engine_extensions() -> list[EngineExtensionType]:
    """What engines have beside their own verbs."""
    return [EngineExtensionType("reviews", "List, decide and delegate reviews", _reviews)]


def _reviews_command() -> Command:
    from flowli_patterns.cli.reviews import reviews

    return reviews


def _decide_command() -> Command:
    from flowli_patterns.cli.decide import decide

    return decide


def flowli_commands() -> list[CommandType]:
    """What operators type."""
    return [
        CommandType("decide", "Decide a review, or hand it to another person", _decide_command),
        CommandType("reviews", "List the reviews that wait for a decision", _reviews_command),
    ]
