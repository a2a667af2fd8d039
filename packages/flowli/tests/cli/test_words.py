"""Instants, durations and waits as people read them."""

from datetime import timedelta
from uuid import UUID

import pytest

from flowli.cli.render import words
from flowli.domain.provenance import Actor, ActorKind
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.timestamp import Timestamp

EID = UUID("0197a1b2-0000-7000-8000-000000000000")
NOW = Timestamp.parse("2026-01-31T12:00:00.000000Z")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.00s"),
        (0, "0.00s"),
        (0.214, "0.21s"),
        (42.4, "42s"),
        (60, "1m"),
        (200, "3m 20s"),
        (3600, "1h"),
        (7500, "2h 5m"),
        (3605, "1h"),
        (356_400, "4d 3h"),
    ],
)
def test_a_duration_names_its_two_greatest_units(seconds, text):
    assert words.duration(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("wait", "text"),
    [
        (OnChannel("orders"), "message on channel orders"),
        (OnChannel(f"{EID}.payments"), "message on channel payments"),
        (OnTimer(NOW + timedelta(minutes=2)), "timer 2026-01-31T12:02:00Z (in 2m)"),
        (OnTimer(Timestamp(NOW.us - 5_000_000)), "timer 2026-01-31T11:59:55Z (due since 5.00s)"),
        (OnChild(EID), f"child {EID}"),
        (OnStep("root/a#1", 2), "step root/a#1 attempt 2 in another worker"),
        (OnOperator("paused", "audit"), "an operator: paused (audit)"),
    ],
)
def test_a_wait_says_on_what(wait, text):
    assert words.on(wait, NOW) == text


def test_a_value_is_one_line_and_cut():
    assert words.short({"a": "é\n"}) == '{"a": "é\\n"}'
    assert words.short("x" * 500, 10) == '"xxxxxxxx…'


def test_an_actor_names_the_one_it_acted_for():
    assert words.actor(Actor(ActorKind.HUMAN, "ada")) == "human ada"
    assert words.actor(Actor(ActorKind.SYSTEM, "api", "ada")) == "system api on behalf of ada"
