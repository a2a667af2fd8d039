"""Timestamps: exact, of one width, sorted as text as in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.testing.strategies import timestamps
from flowli.timestamp import Timestamp

quick = settings(max_examples=200, deadline=None)
LAST = Timestamp.parse("9999-12-31T23:59:59.999999Z")


@quick
@given(timestamps())
def test_text_and_back(moment: Timestamp) -> None:
    assert Timestamp.parse(str(moment)) == moment
    assert len(str(moment)) == 27


@quick
@given(timestamps(), timestamps())
def test_texts_sort_as_instants(one: Timestamp, other: Timestamp) -> None:
    assert (one < other) == (str(one) < str(other))


@quick
@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 12, 30)), st.integers(-1439, 1439))
def test_any_zone_is_the_same_instant(naive: datetime, minutes: int) -> None:
    aware = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert Timestamp.from_datetime(aware).to_datetime() == aware
    assert Timestamp.from_datetime(aware) == Timestamp.from_datetime(aware.astimezone(UTC))


@quick
@given(timestamps(), st.timedeltas(timedelta(0), timedelta(days=3000)))
def test_arithmetic_is_exact(moment: Timestamp, delta: timedelta) -> None:
    if moment.us + delta // timedelta(microseconds=1) <= LAST.us:
        assert (moment + delta) - moment == delta


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31T23:59:59Z",
        "2026-01-31T23:59:59.000000+00:00",
        "2026-01-31 23:59:59.000000Z",
        "2026-02-30T00:00:00.000000Z",
        "2026-01-31T23:59:60.000000Z",
        "1969-12-31T23:59:59.999999Z",
        "٢٠٢٦-01-31T23:59:59.000000Z",
        "2026-01-31T23:59:59.000000Z\n",
    ],
)
def test_no_other_text_is_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"timestamp|Timestamp|day|second"):
        Timestamp.parse(text)


def test_the_edges() -> None:
    assert str(Timestamp(0)) == "1970-01-01T00:00:00.000000Z"
    assert str(LAST) == "9999-12-31T23:59:59.999999Z"
    for us in (-1, LAST.us + 1):
        with pytest.raises(ValueError, match="between the years 1970 and 9999"):
            Timestamp(us)


def test_a_datetime_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone; give one"):
        Timestamp.from_datetime(datetime(2026, 1, 1))
