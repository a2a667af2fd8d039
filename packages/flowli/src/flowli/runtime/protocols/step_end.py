"""``StepEnd``: how a run of a detached step ended, told from one worker to another.

Who ran it knows the error and not the policy; who waits for it knows the policy and not the error's class. So an error
is told with the names of its class and of that class's bases, by which ``retry_on`` and ``give_up_on`` are judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import Defer, ErrorInfo, NonRetryableError, Retry, UsageError
from flowli.domain.retry import RetryPolicy
from flowli.runtime.protocols.retry import Deferred, Failed, instant_of
from flowli.timestamp import Timestamp
from flowli.world import World

__all__ = ["StepEnd", "judge_end"]


@dataclass(frozen=True, slots=True)
class StepEnd:
    """The outcome of a run.

    Attributes:
        at: when.
        worker: who ran it.
        value: what it returned, in its recorded form.
        error: what it raised, unless it returned or was deferred.
        classes: names of the error's class and its bases.
        retry_after_s: the delay that the step itself asked for (``Retry``).
        defer_until: the step asked to be run again then (``Defer``).
    """

    at: Timestamp
    worker: str
    value: Data = None
    error: ErrorInfo | None = None
    classes: tuple[str, ...] = ()
    retry_after_s: float | None = None
    defer_until: Timestamp | None = None

    @classmethod
    def raised(cls, error: BaseException, at: Timestamp, worker: str) -> StepEnd:
        """The end of a run that raised ``error``."""
        if isinstance(error, Defer):
            return cls(at, worker, defer_until=instant_of(error.until, at))
        after = error.after if isinstance(error, Retry) else None
        names = tuple(_name(one) for one in type(error).__mro__)
        seconds = None if after is None else after.total_seconds()
        return cls(at, worker, error=codec.error_info(error), classes=names, retry_after_s=seconds)

    @classmethod
    def from_data(cls, data: Data) -> StepEnd:
        """What ``to_data`` gave."""
        return codec.load(cls, data)

    def to_data(self) -> dict[str, Data]:
        """As the payload of a task."""
        return codec.dump(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> StepEnd:
        """What ``to_bytes`` gave."""
        return cls.from_data(orjson.loads(body))

    def to_bytes(self) -> bytes:
        """As the body of evidence."""
        return codec.canonical(self.to_data())


def judge_end(end: StepEnd, policy: RetryPolicy, attempt: int, world: World) -> Failed | Deferred | None:
    """What follows from a run; None if it returned."""
    if end.defer_until is not None:
        return Deferred(end.defer_until)
    if end.error is None:
        return None
    if not _retries(end.classes, policy, attempt):
        return Failed(end.error, retryable=False, retry_at=None)
    asked = end.retry_after_s
    wait = policy.delay(attempt, world.random().random) if asked is None else timedelta(seconds=max(0.0, asked))
    return Failed(end.error, retryable=True, retry_at=world.now() + wait)


def _retries(classes: tuple[str, ...], policy: RetryPolicy, attempt: int) -> bool:
    """As ``retry.judge``, by the names of the classes: a step that asks for another attempt overrules the policy."""
    if attempt >= policy.max_attempts or _name(UsageError) in classes:
        return False
    if _name(Retry) in classes:
        return True
    if any(_name(never) in classes for never in (NonRetryableError, *policy.give_up_on)):
        return False
    return any(_name(one) in classes for one in policy.retry_on)


def _name(cls: Any) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
