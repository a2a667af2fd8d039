"""Retry policies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.domain.errors import NonRetryableError, UsageError
from flowli.domain.retry import NO_RETRY, RetryPolicy


def test_the_default_tries_once() -> None:
    assert not NO_RETRY.retries(ValueError(), 1)


def test_attempts_run_out() -> None:
    policy = RetryPolicy(max_attempts=3)
    assert [policy.retries(ValueError(), attempt) for attempt in (1, 2, 3)] == [True, True, False]


def test_only_what_is_listed_is_retried() -> None:
    policy = RetryPolicy(max_attempts=9, retry_on=(OSError,), give_up_on=(FileNotFoundError,))
    assert policy.retries(TimeoutError(), 1)
    assert not policy.retries(FileNotFoundError(), 1)
    assert not policy.retries(ValueError(), 1)
    assert not RetryPolicy(max_attempts=9).retries(NonRetryableError(), 1)


def test_delays_grow_to_their_greatest() -> None:
    policy = RetryPolicy(9, timedelta(seconds=1), 2.0, timedelta(seconds=5), jitter=0.0)
    assert [policy.delay(n, lambda: 0.5).total_seconds() for n in (1, 2, 3, 4, 1000)] == [1, 2, 4, 5, 5]


def test_a_steep_policy_of_many_attempts_stays_at_its_greatest_delay() -> None:
    assert RetryPolicy(999, backoff_factor=1e6, jitter=0.0).delay(500, lambda: 0.5) == timedelta(minutes=5)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.floats(1, 1e6))
def test_a_delay_is_never_negative_and_within_its_jitter(n: int, draw: float, jitter: float, factor: float) -> None:
    policy = RetryPolicy(9, timedelta(seconds=1), factor, timedelta(hours=1), jitter)
    delay = policy.delay(n, lambda: draw).total_seconds()
    assert 0 <= delay <= 3600 * (1 + jitter) + 1e-6


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"backoff": timedelta(seconds=-1)}, "backoff is"),
        ({"backoff_factor": 0.5}, "below 1"),
        ({"max_backoff": timedelta(0)}, "is less than backoff"),
        ({"jitter": 1.5}, "between 0 and 1"),
    ],
)
def test_a_policy_that_cannot_work_says_why(settings_: dict[str, Any], says: str) -> None:
    """STP-3."""
    with pytest.raises(UsageError, match=says):
        RetryPolicy(**settings_)
