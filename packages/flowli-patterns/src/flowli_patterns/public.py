"""The public names, which ``flowli.patterns`` shows as its own."""

from __future__ import annotations

from flowli_patterns.coordinate.leases import Held, mutex, semaphore, singleton
from flowli_patterns.coordinate.rates import debounce, throttle
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
    UnknownSchedule,
    UnknownVerdict,
)
from flowli_patterns.fan_out import Done, Failed, fan_out
from flowli_patterns.on_tick import Tick, on_tick
from flowli_patterns.review.call import review
from flowli_patterns.review.inbox import ReviewView
from flowli_patterns.review.model import Decision, Escalation, Notice
from flowli_patterns.review.verbs import Reviews
from flowli_patterns.saga import UNDO_RETRY, Saga, saga
from flowli_patterns.schedule.declare import declare
from flowli_patterns.schedule.model import CatchUp, Overlap, Schedule
from flowli_patterns.schedule.verbs import Backfilled, Schedules, ScheduleView
from flowli_patterns.schedule.when import At, Cron, Every, Ticks

__all__ = [
    "UNDO_RETRY",
    "AlreadyVoted",
    "At",
    "Backfilled",
    "CatchUp",
    "CompensationFailed",
    "Cron",
    "Decision",
    "DelegateFailed",
    "DelegateTimeout",
    "Done",
    "Escalation",
    "Every",
    "Failed",
    "FanOutFailed",
    "FormRefused",
    "Held",
    "NotADecider",
    "Notice",
    "Overlap",
    "ReviewClosed",
    "ReviewDecided",
    "ReviewExpired",
    "ReviewView",
    "Reviews",
    "Saga",
    "Schedule",
    "ScheduleView",
    "Schedules",
    "Tick",
    "Ticks",
    "UnknownReview",
    "UnknownSchedule",
    "UnknownVerdict",
    "debounce",
    "declare",
    "delegate",
    "fan_out",
    "mutex",
    "on_tick",
    "review",
    "saga",
    "semaphore",
    "singleton",
    "throttle",
]
