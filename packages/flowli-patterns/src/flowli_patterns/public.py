"""The public names, which ``flowli.patterns`` shows as its own."""

from __future__ import annotations

from flowli_patterns.delegate import delegate
from flowli_patterns.errors import (
    AlreadyVoted,
    CompensationFailed,
    DelegateFailed,
    DelegateTimeout,
    FanOutFailed,
    FormRefused,
    NotADecider,
    ReviewClosed,
    ReviewDecided,
    ReviewExpired,
    UnknownReview,
    UnknownVerdict,
)
from flowli_patterns.fan_out import Done, Failed, fan_out
from flowli_patterns.on_tick import Tick, on_tick
from flowli_patterns.review.call import review
from flowli_patterns.review.inbox import ReviewView
from flowli_patterns.review.model import Decision, Escalation, Notice
from flowli_patterns.review.verbs import Reviews
from flowli_patterns.saga import UNDO_RETRY, Saga, saga

__all__ = [
    "UNDO_RETRY",
    "AlreadyVoted",
    "CompensationFailed",
    "Decision",
    "DelegateFailed",
    "DelegateTimeout",
    "Done",
    "Escalation",
    "Failed",
    "FanOutFailed",
    "FormRefused",
    "NotADecider",
    "Notice",
    "ReviewClosed",
    "ReviewDecided",
    "ReviewExpired",
    "ReviewView",
    "Reviews",
    "Saga",
    "Tick",
    "UnknownReview",
    "UnknownVerdict",
    "delegate",
    "fan_out",
    "on_tick",
    "review",
    "saga",
]
