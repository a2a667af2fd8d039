"""Retrying a step.

1. The attempt fails. The owner journals ``frame.failed`` with ``retry_at`` if another attempt follows. *Crash before
   it is durable*: the attempt counts as never made; the next owner makes it again under the same number and
   idempotency key.
2. The frame waits for ``retry_at``: in the worker for waits up to ``hold_s``, else suspended behind a timer.
3. ``frame.started`` with the next number rides with the commit before the next effect. *Crash before*: the next
   owner reads ``retry_at`` from the journal and goes on with step 2; a wait never starts anew.

``Retry(after=...)`` replaces the policy's delay, ``Defer(until=...)`` uses no attempt, ``NonRetryableError`` ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from flowli import codec
from flowli.domain.errors import Defer, ErrorInfo, Retry, UsageError
from flowli.domain.retry import RetryPolicy
from flowli.timestamp import Timestamp
from flowli.world import World

__all__ = ["Deferred", "Failed", "instant_of", "judge"]


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed; with ``retry_at`` another one follows."""

    error: ErrorInfo
    retryable: bool
    retry_at: Timestamp | None


@dataclass(frozen=True, slots=True)
class Deferred:
    """The step is to be run again at ``until``, under the same number."""

    until: Timestamp


def judge(error: BaseException, policy: RetryPolicy, attempt: int, world: World) -> Failed | Deferred:
    """What follows from an attempt that raised ``error``."""
    now = world.now()
    if isinstance(error, Defer):
        return Deferred(instant_of(error.until, now))
    info = codec.error_info(error)
    if isinstance(error, UsageError):
        return Failed(info, retryable=False, retry_at=None)
    if isinstance(error, Retry):
        retryable = attempt < policy.max_attempts
        delay = error.after
    else:
        retryable, delay = policy.retries(error, attempt), None
    if not retryable:
        return Failed(info, retryable=False, retry_at=None)
    wait = delay if delay is not None else policy.delay(attempt, world.random().random)
    return Failed(info, retryable=True, retry_at=now + max(wait, timedelta(0)))


def instant_of(until: datetime | timedelta, now: Timestamp) -> Timestamp:
    """The instant that a step asked for, also by a delay."""
    return now + until if isinstance(until, timedelta) else Timestamp.from_datetime(until)
