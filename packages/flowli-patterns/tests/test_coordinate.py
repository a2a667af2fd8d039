"""Coordination across executions: who goes first, how many at once, how often, and who goes at all."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from flowli import Context, Registry
from flowli.domain.channels import Message
from flowli.domain.errors import ExecutionFailed
from flowli.domain.provenance import ActorKind
from flowli.testing.env import TestEnvironment
from flowli_patterns.public import debounce, mutex, semaphore, singleton, throttle

registry = Registry()
inside: list[str] = []
seen: list[int] = []


async def enter(name: str) -> None:
    inside.append(name)
    seen.append(len(inside))


async def leave(name: str) -> None:
    inside.remove(name)


async def crash() -> None:
    raise ValueError("as asked")


async def hold(ctx: Context, name: str, seconds: float) -> None:
    await ctx.step(enter, name)
    try:
        await ctx.sleep(seconds)
    finally:
        await ctx.step(leave, name)


@registry.workflow
async def locked(ctx: Context, name: str, seconds: float = 45.0, fail: bool = False) -> int:
    async with mutex(ctx, "door") as held:
        await hold(ctx, name, seconds)
        if fail:
            raise ValueError("as asked")
        return held.epoch


@registry.workflow
async def pooled(ctx: Context, name: str, seconds: float, permits: int = 2) -> int:
    async with semaphore(ctx, "pool", permits) as held:
        await hold(ctx, name, seconds)
        return held.permit


@registry.workflow
async def single(ctx: Context, name: str, seconds: float = 60.0) -> str:
    async with singleton(ctx, "import") as mine:
        if mine is None:
            return "under way"
        await hold(ctx, name, seconds)
        return "done"


@registry.workflow
async def paced(ctx: Context, limit: int) -> datetime:
    begins = await throttle(ctx, "gateway", limit, 60)
    assert ctx.now >= begins
    return ctx.now


@registry.workflow
async def calm(ctx: Context, after: float) -> bool:
    await ctx.sleep(after)
    return await debounce(ctx, "index", 10)


@registry.workflow
async def bad(ctx: Context, what: str) -> None:
    if what == "name":
        async with mutex(ctx, " door"):
            pass
    elif what == "permits":
        async with semaphore(ctx, "pool", 0):
            pass
    elif what == "limit":
        await throttle(ctx, "gateway", 0, 60)
    elif what == "per":
        await throttle(ctx, "gateway", 1, -60)
    elif what == "quiet":
        await debounce(ctx, "index", 0)


@pytest.fixture
async def env(open_env: Callable[[Registry], TestEnvironment]):
    inside.clear()
    seen.clear()
    async with open_env(registry) as env:
        yield env


async def started(env: TestEnvironment, workflow, *calls: tuple) -> list:
    """Each has come to a wait before the next one starts."""
    found = []
    for call in calls:
        found.append(await env.start(workflow, *call))
        await env.settle()
    return found


async def test_a_mutex_has_one_holder_and_those_who_wait_get_it_in_order(env):
    """PAT-26."""
    eids = await started(env, locked, *((name,) for name in "abcd"))
    assert inside == ["a"]
    await env.run_until_idle()
    epochs = [await env.result(eid) for eid in eids]
    assert epochs == sorted(set(epochs))
    assert seen == [1, 1, 1, 1]
    assert env.now < datetime(2026, 1, 1, 0, 5, tzinfo=UTC)  # nobody waited for a look of its own


@pytest.mark.parametrize("end", ["cancel", "terminate"])
@pytest.mark.parametrize(
    ("workflow", "calls"), [(locked, ["a", "b"]), (pooled, ["a", "b"])], ids=["mutex", "semaphore"]
)
async def test_what_was_held_is_free_when_the_holder_is_ended(env, end, workflow, calls):
    """PAT-26."""
    more = () if workflow is locked else (60.0, 1)
    first, second = await started(env, workflow, *((name, *more) for name in calls))
    await env.clock.drive(getattr(env.engine, end)(first, "enough"))
    await env.run_until_idle()
    assert (await env.status(second)).status == "completed"
    assert (await env.status(first)).status.terminal
    assert seen[-1] == len(inside) + 1


async def test_what_was_held_is_free_when_the_holder_fails(env):
    first, second = await started(env, locked, ("a", 60.0, True), ("b",))
    await env.run_until_idle()
    assert [str((await env.status(eid)).status) for eid in (first, second)] == ["failed", "completed"]
    assert seen == [1, 1]


async def test_it_stays_held_when_the_process_is_gone(env):
    """PAT-26."""
    first, second = await started(env, locked, ("a",), ("b",))
    await env.restart()
    await env.settle()
    assert inside == ["a"]
    await env.run_until_idle()
    assert await env.result(second) > await env.result(first)
    assert seen == [1, 1]


async def test_who_waits_and_is_ended_holds_up_nobody(env):
    _, second, third = await started(env, locked, ("a",), ("b",), ("c",))
    await env.clock.drive(env.engine.terminate(second, "enough"))
    await env.run_until_idle()
    assert (await env.status(third)).status == "completed"
    assert seen == [1, 1]


async def test_a_semaphore_has_so_many_holders_and_the_line_gets_what_is_free_first(env):
    """PAT-26."""
    eids = await started(env, pooled, ("a", 300.0), ("b", 50.0), ("c", 50.0), ("d", 50.0), ("e", 50.0))
    assert sorted(inside) == ["a", "b"]
    await env.run_until_idle()
    assert max(seen) == 2
    permits = [await env.result(eid) for eid in eids]
    assert permits[1:] == [1 - permits[0]] * 4  # while a holds its own, the others take turns with the other one
    ended = [(await env.status(eid)).ended_at for eid in eids[1:]]
    assert ended == sorted(ended)


async def test_a_singleton_turns_the_others_away_until_it_has_ended(env):
    """PAT-27."""
    first, second = await started(env, single, ("a",), ("b",))
    await env.run_until_idle()
    assert [await env.result(eid) for eid in (first, second)] == ["done", "under way"]
    (third,) = await started(env, single, ("c",))
    await env.clock.drive(env.engine.terminate(third, "enough"))
    await env.settle()
    assert await env.run(single, "d") == "done"


async def test_who_stops_waiting_for_a_permit_leaves_nothing_behind(env):
    first, second, third = await started(env, pooled, ("a", 600.0, 1), ("b", 10.0, 1), ("c", 10.0, 1))
    await env.clock.drive(env.engine.cancel(second, "enough"))
    await env.settle()
    assert str((await env.status(second)).status) == "cancelled"
    await env.clock.drive(env.engine.cancel(first, "enough"))
    await env.run_until_idle()
    assert await env.result(third) == 0
    assert inside == []


async def test_who_is_cancelled_while_it_asks_for_a_singleton_leaves_nothing_behind(env):
    """PAT-27."""
    first, second = await started(env, single, ("a", 600.0), ("b",))
    await env.clock.drive(env.engine.cancel(second, "enough"))
    await env.settle()
    await env.clock.drive(env.engine.cancel(first, "enough"))
    await env.settle()
    assert [str((await env.status(eid)).status) for eid in (first, second)] == ["cancelled"] * 2
    assert await env.run(single, "c", 5.0) == "done"


async def test_a_throttle_lets_so_many_pass_in_each_window_in_order(env):
    """PAT-28."""
    eids = await started(env, paced, *[(3,)] * 8)
    await env.run_until_idle()
    passed = [await env.result(eid) for eid in eids]
    minutes = [(one - datetime(2026, 1, 1, tzinfo=UTC)) // timedelta(minutes=1) for one in passed]
    assert minutes == [0, 0, 0, 1, 1, 1, 2, 2]


async def test_a_place_in_a_throttle_passes_by_when_its_owner_is_ended(env):
    """PAT-28."""
    first, second, third = await started(env, paced, *[(1,)] * 3)
    await env.clock.drive(env.engine.terminate(second, "enough"))
    await env.run_until_idle()
    assert (await env.result(third)) - (await env.result(first)) < timedelta(minutes=3)


async def test_the_last_of_many_callers_goes_on_when_it_is_quiet(env):
    """PAT-19."""
    eids = [await env.start(calm, after) for after in (1.0, 2.0, 9.0, 40.0)]
    await env.run_until_idle()
    assert [await env.result(eid) for eid in eids] == [False, False, True, True]


async def test_of_callers_that_come_at_the_same_moment_one_goes_on(env):
    eids = [await env.start(calm, 1.0) for _ in range(6)]
    await env.run_until_idle()
    assert sorted([await env.result(eid) for eid in eids]) == [False] * 5 + [True]


async def test_who_follows_one_that_stands_still_tells_the_one_before_it_as_well(env):
    """PAT-19: the second caller has its place and has left no address when the third one comes."""
    row = hashlib.sha256(b"index").hexdigest()[:24]
    (first,) = await started(env, calm, (0.0,))
    by, ports = env.engine.services.provenance(kind=ActorKind.WORKER), env.engine.ports
    await env.clock.drive(ports.channel.send(Message("stands-still", f"_debounce-{row}", None, by)))
    (third,) = await started(env, calm, (0.0,))
    assert await env.result(first) is False
    await env.run_until_idle()
    assert await env.result(third) is True
    stands = await env.clock.drive(ports.dispatch.claim(f"debounce:{row}:2", "mine"))
    assert (stands.won, stands.value) == (False, "followed")


async def test_who_was_followed_before_it_left_its_address_does_not_wait(env):
    row = hashlib.sha256(b"index").hexdigest()[:24]
    await env.clock.drive(env.engine.ports.dispatch.claim(f"debounce:{row}:1", "followed"))
    (eid,) = await started(env, calm, (0.0,))
    assert await env.result(eid) is False


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("name", "mutex ' door' cannot be used"),
        ("permits", "semaphore 'pool' has permits=0; give 1 to 32"),
        ("limit", "throttle 'gateway' has limit=0; give at least 1"),
        ("per", "per is -1 day, 23:59:00; give more than zero"),
        ("quiet", "quiet is 0:00:00; give more than zero"),
    ],
)
async def test_wrong_calls_are_refused_and_say_what_to_do(env, what, told):
    with pytest.raises(ExecutionFailed, match=told):
        await env.run(bad, what)
