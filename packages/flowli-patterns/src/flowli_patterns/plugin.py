"""Registers the patterns with flowli."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.descriptors import ApiRouterType, CommandType, EngineExtensionType, ExplainerType, PatternType, SweepJobType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from click import Command

    from flowli.runtime.insight import Explainer


def _pattern(name: str) -> Callable[[], Callable[..., Awaitable[object]]]:
    def load() -> Callable[..., Awaitable[object]]:
        from flowli_patterns import public

        found: Callable[..., Awaitable[object]] = getattr(public, name)
        return found

    return load


def flowli_patterns() -> list[PatternType]:
    """What workflows call."""
    return [
        PatternType(
            "debounce", "Of many executions that come shortly one after another, only the last", _pattern("debounce")
        ),
        PatternType("delegate", "Have a consumer outside the engine do a piece of work", _pattern("delegate")),
        PatternType("fan_out", "The same work for many items at once, bounded and in order", _pattern("fan_out")),
        PatternType("mutex", "One execution at a time; the others wait", _pattern("mutex")),
        PatternType("on_tick", "Do something again and again, on a grid that does not drift", _pattern("on_tick")),
        PatternType("review", "Wait for the decision of people; exactly one stands", _pattern("review")),
        PatternType("saga", "Actions that are undone in reverse order when a later one fails", _pattern("saga")),
        PatternType("semaphore", "So many executions at a time; the others wait", _pattern("semaphore")),
        PatternType("singleton", "One execution at a time; the others go on without", _pattern("singleton")),
        PatternType("throttle", "So many executions in each window of time", _pattern("throttle")),
    ]


def _reviews() -> object:
    from flowli_patterns.review.verbs import Reviews

    return Reviews


def _schedules() -> object:
    from flowli_patterns.schedule.verbs import Schedules

    return Schedules


def _tick() -> object:
    from flowli_patterns.schedule.verbs import tick_of

    return tick_of


def _schedule_job() -> object:
    from flowli_patterns.schedule.job import ScheduleJob

    return ScheduleJob()


def flowli_engine_extensions() -> list[EngineExtensionType]:
    """What engines have beside their own verbs."""
    return [
        EngineExtensionType("reviews", "List, decide and delegate reviews", _reviews),
        EngineExtensionType("schedules", "Define schedules, start what they would start", _schedules),
        EngineExtensionType("tick", "Deliver a tick of an external scheduler", _tick),
    ]


def flowli_sweep_jobs() -> list[SweepJobType]:
    """What sweepers do for patterns."""
    return [SweepJobType("schedules", "Start what schedules are due for", _schedule_job)]


def _reviews_command() -> Command:
    from flowli_patterns.cli.reviews import reviews

    return reviews


def _decide_command() -> Command:
    from flowli_patterns.cli.decide import decide

    return decide


def _schedules_command() -> Command:
    from flowli_patterns.cli.schedules import schedules

    return schedules


def flowli_commands() -> list[CommandType]:
    """What operators type."""
    return [
        CommandType("decide", "Decide a review, or hand it to another person", _decide_command),
        CommandType("reviews", "List the reviews that wait for a decision", _reviews_command),
        CommandType("schedules", "Define, pause and look at schedules", _schedules_command),
    ]


def _router() -> object:
    from flowli_patterns.api import router

    return router


def _schedule_router() -> object:
    from flowli_patterns.schedule.api import router

    return router


def flowli_api_routers() -> list[ApiRouterType]:
    """What the HTTP service has under ``/v1/reviews`` and ``/v1/schedules``."""
    return [
        ApiRouterType("reviews", "List, decide and delegate reviews", _router),
        ApiRouterType("schedules", "Define, pause and look at schedules", _schedule_router),
    ]


def _open_review() -> Explainer:
    from flowli_patterns.explain import open_review

    return open_review


def flowli_explainers() -> list[ExplainerType]:
    """Why an execution waits."""
    return [ExplainerType("reviews", "Reviews that wait for a decision", _open_review)]
