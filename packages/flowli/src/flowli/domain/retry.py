"""Retry policies of steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from flowli.domain.errors import NonRetryableError, UsageError

__all__ = ["NO_RETRY", "RetryPolicy"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a failed step is tried again.

    The delay before attempt n+1 is ``backoff * backoff_factor**(n-1)``, at most ``max_backoff``, spread by up to
    ``jitter`` of itself in both directions.

    Attributes:
        max_attempts: attempts in all; 1 means no retry.
        backoff: delay before the second attempt.
        backoff_factor: growth of the delay.
        max_backoff: greatest delay.
        jitter: share between 0 and 1.
        retry_on: only errors of these classes are retried.
        give_up_on: errors of these classes are never retried.

    Raises:
        UsageError: the policy cannot work.
    """

    max_attempts: int = 1
    backoff: timedelta = timedelta(seconds=1)
    backoff_factor: float = 2.0
    max_backoff: timedelta = timedelta(minutes=5)
    jitter: float = 0.1
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    give_up_on: tuple[type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        zero = timedelta(0)
        problems: list[tuple[bool, str]] = [
            (self.max_attempts < 1, f"max_attempts is {self.max_attempts}; it counts the first attempt, so at least 1"),
            (self.backoff < zero, f"backoff is {self.backoff}; it cannot be negative"),
            (self.backoff_factor < 1, f"backoff_factor is {self.backoff_factor}; below 1 the delays would shrink"),
            (self.max_backoff < self.backoff, f"max_backoff {self.max_backoff} is less than backoff {self.backoff}"),
            (not 0 <= self.jitter <= 1, f"jitter is {self.jitter}; it is a share between 0 and 1"),
        ]
        for wrong, problem in problems:
            if wrong:
                raise UsageError(f"this retry policy cannot work: {problem}")

    def retries(self, error: BaseException, attempt: int) -> bool:
        """Whether another attempt follows ``attempt`` (counted from 1), which ended in ``error``."""
        if attempt >= self.max_attempts or isinstance(error, (NonRetryableError, *self.give_up_on)):
            return False
        return isinstance(error, self.retry_on)

    def delay(self, attempt: int, draw: Callable[[], float]) -> timedelta:
        """How long to wait after ``attempt`` failed.

        Args:
            draw: gives a number in [0, 1) for the jitter.
        """
        # beyond this many doublings every delay is the greatest one
        exponent = min(attempt - 1, 1 + int(30 / math.log(self.backoff_factor))) if self.backoff_factor > 1 else 0
        base = min(self.backoff.total_seconds() * self.backoff_factor**exponent, self.max_backoff.total_seconds())
        return timedelta(seconds=max(0.0, base * (1 + self.jitter * (2 * draw() - 1))))


NO_RETRY = RetryPolicy()
