"""Registers the pattern with flowli. It imports nothing heavy: ``load`` does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from flowli.descriptors import ApiRouterType, EngineExtensionType, ExplainerType, PatternType, SweepJobType

if TYPE_CHECKING:
    from flowli.runtime.insight import Explainer


def _vote() -> Callable[..., Awaitable[object]]:
    from flowli_pattern_vote.vote import vote

    return vote


def _ballots() -> object:
    from flowli_pattern_vote.ballots import Ballots

    return Ballots


def _reminders() -> object:
    from flowli_pattern_vote.reminders import Reminders

    return Reminders()


def _open_ballot() -> Explainer:
    from flowli_pattern_vote.explain import open_ballot

    return open_ballot


def _router() -> object:
    from flowli_pattern_vote.api import router

    return router


def flowli_patterns() -> list[PatternType]:
    """What workflows call."""
    return [PatternType("vote", "Ask several people, and go on as soon as their answer is certain", _vote)]


def flowli_engine_extensions() -> list[EngineExtensionType]:
    """``engine.ballots``."""
    return [EngineExtensionType("ballots", "Cast a vote", _ballots)]


def flowli_sweep_jobs() -> list[SweepJobType]:
    """What sweepers do for votes."""
    return [SweepJobType("vote-reminders", "Remind those who have not voted, a day before the end", _reminders)]


def flowli_explainers() -> list[ExplainerType]:
    """Why an execution waits."""
    return [ExplainerType("ballots", "Votes that are still missing", _open_ballot)]


def flowli_api_routers() -> list[ApiRouterType]:
    """What the HTTP service has under ``/v1/ballots``, where it is installed."""
    return [ApiRouterType("ballots", "List and cast votes", _router)]
