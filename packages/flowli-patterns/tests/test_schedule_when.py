"""K34, PAT-18: slots in five zones across both changes of the clocks, against a scan of the year under the policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowli.domain.errors import UsageError
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.when import At, Cron, Every, Ticks, next_after, slots_between

ZONES = ["Europe/Helsinki", "US/Pacific", "Australia/Lord_Howe", "Pacific/Chatham", "UTC"]
YEAR = 2026
BEGIN, END = datetime(YEAR, 1, 1, tzinfo=UTC), datetime(YEAR + 1, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def slots(expression: str, zone: str) -> list[datetime]:
    found = []
    for slot in Cron(expression, zone).after(BEGIN - timedelta(seconds=1)):
        if slot >= END:
            return found
        found.append(slot)
    return found


@cache
def minutes_of_the_year(zone: str) -> list[tuple[datetime, int, int]]:
    """Every fifteenth minute with the hour and the minute that the clock shows; no zone has a finer offset."""
    tz = ZoneInfo(zone)
    moments = [BEGIN + quarter * 15 * MINUTE for quarter in range((END - BEGIN) // (15 * MINUTE))]
    return [(moment, (local := moment.astimezone(tz)).hour, local.minute) for moment in moments]


def scan_real_time(zone: str, minutes: set[int], hours: set[int] | None = None) -> list[datetime]:
    """Whenever the clock shows such a time: the policy of expressions that follow the clock."""
    return [
        moment
        for moment, hour, minute in minutes_of_the_year(zone)
        if minute in minutes and (hours is None or hour in hours)
    ]


def scan_time_of_day(zone: str, hour: int, minute: int, *, day: tuple[int, int] | None = None) -> list[datetime]:
    """Once a day: the first of two, or the end of the gap that the time falls into."""
    tz, found = ZoneInfo(zone), []
    date = (BEGIN - timedelta(days=1)).date()
    while date <= END.date():
        if day is None or (date.month, date.day) == day:
            local = datetime(date.year, date.month, date.day, hour, minute)
            moment = local.replace(tzinfo=tz).astimezone(UTC)
            while moment.astimezone(tz).replace(tzinfo=None) != local:  # in a gap
                local += MINUTE
                moment = local.replace(tzinfo=tz).astimezone(UTC)
            if BEGIN <= moment < END:
                found.append(moment)
        date += timedelta(days=1)
    return found


@pytest.mark.parametrize("zone", ZONES)
def test_hourly_and_half_hourly_follow_the_clock_through_both_changes(zone: str) -> None:
    assert slots("0 * * * *", zone) == scan_real_time(zone, {0})
    assert slots("*/30 * * * *", zone) == scan_real_time(zone, {0, 30})
    assert slots("*/15 2 * * *", zone) == scan_real_time(zone, {0, 15, 30, 45}, {2})


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("hour", "minute"), [(2, 30), (1, 45), (3, 0), (0, 0), (2, 0)])
def test_a_time_of_day_comes_once_a_day_whatever_the_clocks_do(zone: str, hour: int, minute: int) -> None:
    found = slots(f"{minute} {hour} * * *", zone)
    assert found == scan_time_of_day(zone, hour, minute)
    assert len(found) in (365, 366)


@pytest.mark.parametrize("zone", ZONES)
def test_two_times_that_fall_on_one_instant_are_one_slot(zone: str) -> None:
    found = slots("0,30 2,3 * * *", zone)
    assert all(one < following for one, following in pairwise(found))
    assert set(found) == {
        moment for hour in (2, 3) for minute in (0, 30) for moment in scan_time_of_day(zone, hour, minute)
    }


def test_the_leap_day_is_found_across_eight_years() -> None:
    cron = Cron("0 0 29 2 *", "Europe/Helsinki")
    found = list(islice(cron.after(datetime(2096, 1, 1, tzinfo=UTC)), 2))
    assert [slot.astimezone(ZoneInfo("Europe/Helsinki")).year for slot in found] == [2096, 2104]


@given(
    zone=st.sampled_from(ZONES),
    fields=st.tuples(
        st.sampled_from(["*", "*/7", "0", "30", "15,45", "59"]),
        st.sampled_from(["*", "*/5", "0", "1", "2", "3", "23", "1-3"]),
        st.sampled_from(["*", "1", "31", "*/10"]),
        st.sampled_from(["*", "3", "10", "4,11"]),
        st.sampled_from(["*", "SUN", "1-5"]),
    ),
    start=st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1)),
)
def test_each_slot_is_strictly_later_and_does_not_depend_on_where_one_begins(
    zone: str, fields: tuple[str, ...], start: datetime
) -> None:
    if fields[2:4] in (("31", "4,11"), ("31", "*/10")):
        return  # there is no such day
    cron = Cron(" ".join(fields), zone)
    found = list(islice(cron.after(start.replace(tzinfo=UTC)), 12))
    assert all(one < following for one, following in pairwise(found))
    # a sweeper that was down, or began in between, sees the same slots
    for at, slot in enumerate(found[:-1]):
        assert next(iter(cron.after(slot))) == found[at + 1]


def test_a_grid_does_not_drift_and_begins_where_it_is_said() -> None:
    every = Every(90, datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC))
    found = slots_between(every, Timestamp(0), Timestamp.parse("2026-01-01T00:05:00.000000Z"), 10)
    assert [str(slot)[11:19] for slot in found] == ["00:00:30", "00:02:00", "00:03:30", "00:05:00"]
    assert next_after(every, found[1]) == found[2]
    assert next_after(Every(3600), Timestamp.parse("2026-01-01T00:00:00.000000Z")) == Timestamp.parse(
        "2026-01-01T01:00:00.000000Z"
    )


def test_single_instants_end_and_ticks_have_no_slots_of_their_own() -> None:
    at = At((datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)))
    last = Timestamp.from_datetime(at.instants[-1])
    assert len(slots_between(at, Timestamp(0), last, 10)) == 2
    assert next_after(at, last) is None
    assert next_after(Ticks(), Timestamp(0)) is None


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Cron("0 0 30 2 *"), "never due"),
        (lambda: Cron("0 25 * * *"), r"character 3: '25' is no hour"),
        (lambda: Cron("* * *"), "has 3 fields"),
        (lambda: Cron("0 2 * * MOO"), "'MOO' is no day of the week"),
        (lambda: Cron("@fortnightly"), "known are @annually"),
        (lambda: Cron("0 0 * * *", "Europe/Helsinky"), "did you mean 'Europe/Helsinki'"),
        (lambda: Cron("0 0 * * *", "../x"), "no time zone"),
        (lambda: Every(0.5), "too often"),
        (lambda: Every(float("nan")), "too often"),
        (lambda: Every(float("inf")), "is never; give at most"),
        (lambda: Every(60, datetime(2026, 1, 1)), "no time zone"),
        (lambda: At(()), "names none"),
        (lambda: At((datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))), "do not ascend"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(make, says: str) -> None:
    """PAT-25."""
    with pytest.raises(UsageError, match=says):
        make()
