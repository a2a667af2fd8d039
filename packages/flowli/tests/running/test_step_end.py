"""What a worker tells of a detached step is judged as the error itself would be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowli import Defer, NonRetryableError, Retry, RetryPolicy, Timestamp
from flowli.domain.errors import PayloadTooLarge, UsageError
from flowli.runtime.protocols.retry import judge
from flowli.runtime.protocols.step_end import StepEnd, judge_end
from flowli.testing.clock import ManualClock, ManualWorld

CLASSES = (Exception, ValueError, LookupError, KeyError, OSError, SystemExit, BaseException, UsageError)
ERRORS = (
    ValueError("v"),
    KeyError("k"),
    IndexError("i"),
    ConnectionResetError("c"),
    SystemExit(1),
    NonRetryableError("n"),
    PayloadTooLarge("p"),
    Retry("r"),
    Retry("r", after=7.5),
    Retry("r", after=timedelta(days=2)),
    Defer(until=60),
    Defer(until=datetime(2030, 1, 1, tzinfo=UTC)),
)

policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 3),
    jitter=st.just(0.0),
    retry_on=st.lists(st.sampled_from(CLASSES), max_size=3).map(tuple),
    give_up_on=st.lists(st.sampled_from(CLASSES), max_size=2).map(tuple),
)


@given(st.sampled_from(ERRORS), policies, st.integers(1, 4))
def test_it_is_judged_as_in_the_worker_of_the_workflow(error: BaseException, policy: RetryPolicy, attempt: int) -> None:
    world = ManualWorld(ManualClock())
    end = StepEnd.from_bytes(StepEnd.raised(error, world.now(), "w").to_bytes())
    assert judge_end(end, policy, attempt, world) == judge(error, policy, attempt, world)


@pytest.mark.parametrize("value", [None, 0, "text", [1, {"a": None}], {"error": "no error"}])
def test_a_value_comes_back(value: object) -> None:
    end = StepEnd(Timestamp(5), "w", value)  # type: ignore[arg-type]
    assert StepEnd.from_bytes(end.to_bytes()) == StepEnd.from_data(end.to_data()) == end
    world = ManualWorld(ManualClock())
    assert judge_end(end, RetryPolicy(), 1, world) is None


def test_deferring_without_a_time_zone_is_refused_where_it_is_said() -> None:
    with pytest.raises(UsageError, match="has no time zone"):
        Defer(until=datetime(2030, 1, 1))
