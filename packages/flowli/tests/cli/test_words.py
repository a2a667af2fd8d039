"""Instants, durations and waits as people read them."""

from datetime import timedelta
from uuid import UUID

import pytest

from flowli.cli.render import words
from flowli.domain.errors import ErrorInfo
from flowli.domain.provenance import Actor, ActorKind
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.timestamp import Timestamp

EID = UUID("0197a1b2-0000-7000-8000-000000000000")
NOW = Timestamp.parse("2026-01-31T12:00:00.000000Z")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0ms"),
        (0.0006, "0.6ms"),
        (0.0214, "21ms"),
        (0.9999, "1.00s"),
        (1.214, "1.21s"),
        (9.999, "10s"),
        (59.7, "1m"),
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
        (OnChannel("orders"), "a message on channel orders"),
        (OnChannel(f"{EID}.payments"), "a message on channel payments"),
        (OnTimer(NOW + timedelta(minutes=2)), "timer 2026-01-31T12:02:00Z (in 2m)"),
        (OnTimer(Timestamp(NOW.us - 5_000_000)), "timer 2026-01-31T11:59:55Z (due since 5.00s)"),
        (OnChild(EID), f"child {EID}"),
        (OnStep("root/a#1", 2), "step root/a#1 attempt 2 in another worker"),
        (OnOperator("paused", "audit"), "an operator: paused (audit)"),
    ],
)
def test_a_wait_says_on_what(wait, text):
    assert words.on(wait, NOW) == text


def test_a_prefix_tells_each_id_from_the_others():
    near = [UUID("0197a1b2-0000-7000-8000-000000000000"), UUID("0197a1b2-0000-7abc-8000-000000000000")]
    far = UUID("f0000000-0000-5000-8000-000000000000")
    assert words.prefixes([*near, far, far]) == {
        near[0]: "0197a1b2-0000-70",
        near[1]: "0197a1b2-0000-7a",
        far: "f0000000-0000",
    }


def test_a_value_is_one_line_and_cut():
    assert words.short({"a": "é\n"}) == '{"a": "é\\n"}'
    assert words.short("x" * 500, 10) == '"xxxxxxxx…'


def test_an_actor_names_the_one_it_acted_for():
    assert words.actor(Actor(ActorKind.HUMAN, "ada")) == "human ada"
    assert words.actor(Actor(ActorKind.SYSTEM, "api", "ada")) == "system api on behalf of ada"


def test_a_list_says_first_what_tells_one_from_another():
    now = Timestamp.parse("2026-01-31T12:00:00.000000Z")
    assert words.brief(OnChannel(f"{EID}.payments"), now) == "channel payments"
    assert words.brief(OnChannel("orders"), now) == "channel orders"
    assert words.brief(OnTimer(now + timedelta(hours=5)), now) == "timer in 5h"
    assert words.brief(OnTimer(now + timedelta(hours=-5)), now) == "timer due since 5h"
    assert words.brief(OnStep("root/charge#1", 1), now) == "step charge#1 in another worker"
    assert words.brief(OnChild(EID), now) == f"child {EID}"
    failed = ErrorInfo("flowli.StepFailed", "step root/ship#1 failed after 2 attempts: OSError: no\n route")
    assert words.brief_error(failed) == "ship#1: OSError: no route"
    assert words.brief_error(ErrorInfo("app.Bad", "no luck")) == "Bad: no luck"
