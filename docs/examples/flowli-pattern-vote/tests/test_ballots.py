"""Votes in all ways, in time that is skipped; what sweepers, ``explain`` and ``flowli plugins`` are given."""

from datetime import timedelta
from importlib import import_module

import pytest

from flowli import Context, Registry
from flowli.descriptors import PatternType
from flowli.domain.control_entries import Announced
from flowli.domain.errors import NotAllowed, UsageError
from flowli.plugins import Manager, Source
from flowli.testing.env import TestEnvironment
from flowli_pattern_vote.ballots import Ballots
from flowli_pattern_vote.explain import open_ballot
from flowli_pattern_vote.reminders import Reminders
from flowli_pattern_vote.vote import vote

registry = Registry()


@registry.workflow
async def party(ctx: Context, friends: list[str], days: int = 7) -> tuple[str | None, dict[str, str]]:
    outcome = await vote(ctx, "where to?", friends, choices=["sea", "hills"], deadline=timedelta(days=days))
    return outcome.choice, dict(outcome.votes)


@pytest.fixture
async def env():
    async with TestEnvironment(registry) as env:
        yield env


async def opened(env: TestEnvironment, friends: str):
    eid = await env.start(party, [*friends])
    await env.settle()
    return eid


async def cast(env: TestEnvironment, eid, *votes: str) -> None:
    for one in votes:
        await env.clock.drive(Ballots(env.engine).cast(eid, *one.split()))
        await env.settle()


@pytest.mark.parametrize(
    ("votes", "choice"),
    [(["a sea", "b sea"], "sea"), (["a sea", "b hills", "c hills"], "hills"), (["a sea", "a hills", "b sea"], "sea")],
)
async def test_the_majority_of_all_voters_decides_at_once(env, votes, choice):
    eid = await opened(env, "abc")
    await cast(env, eid, *votes)
    assert (await env.result(eid))[0] == choice
    assert await env.clock.drive(Ballots(env.engine).list()) == []


async def test_it_ends_when_no_choice_can_win_any_more(env):
    eid = await opened(env, "ab")
    await cast(env, eid, "a sea", "b hills")
    assert await env.result(eid) == (None, {"a": "sea", "b": "hills"})


async def test_it_ends_when_the_time_is_up_also_after_a_restart(env):
    eid = await opened(env, "abc")
    await cast(env, eid, "a sea")
    await env.restart()
    await env.run_until_idle()
    assert await env.result(eid) == (None, {"a": "sea"})


async def test_who_has_no_vote_and_what_is_no_choice_is_refused(env):
    eid = await opened(env, "abc")
    with pytest.raises(NotAllowed, match="'eve' has no vote"):
        await cast(env, eid, "eve sea")
    with pytest.raises(UsageError, match="choose one of sea, hills"):
        await cast(env, eid, "a moon")
    await env.clock.drive(env.engine.signal(eid, (await Ballots(env.engine).list())[0].channel, {"voter": "eve"}))
    await env.run_until_idle()
    assert await env.result(eid) == (None, {})


@pytest.mark.parametrize("friends", ["", "aba"])
async def test_a_vote_that_cannot_be_held_is_refused(env, friends):
    eid = await opened(env, friends)
    assert (await env.status(eid)).error.type.endswith("UsageError")


async def test_two_sweepers_remind_once_a_day_before_the_end(env):
    eid = await opened(env, "abc")
    sweepers = [env.engine.sweeper(jobs=[Reminders()]) for _ in range(2)]
    for days in (5, 1):
        env.clock.jump(env.clock.now() + timedelta(days=days))
        for sweeper in sweepers:
            await env.clock.drive(sweeper.sweep_once())
        entries = (await env.engine.ports.control.read()).entries
        found = [
            one.body.eid for one in entries if isinstance(one.body, Announced) and one.body.topic == "ballot-reminder"
        ]
        assert found == ([] if days == 5 else [eid])


async def test_explain_names_the_voters(env):
    eid = await opened(env, "abc")
    inspection = await env.clock.drive(env.engine.inspect(eid))
    told = await env.clock.drive(open_ballot(inspection, env.engine.ports))
    assert "votes of a, b, c about 'where to?'" in told.sentence


async def test_a_vote_of_an_execution_that_was_terminated_is_not_held(env):
    eid = await opened(env, "abc")
    await env.clock.drive(env.engine.terminate(eid, "no party"))
    await env.settle()
    assert await env.clock.drive(Ballots(env.engine).list()) == []


def test_flowli_finds_the_pattern():
    module = "flowli_pattern_vote.plugin"
    source = Source("vote", "flowli-pattern-vote", "0.2.0", module, lambda: import_module(module))
    assert Manager([source]).all(PatternType)["vote"].load() is vote
