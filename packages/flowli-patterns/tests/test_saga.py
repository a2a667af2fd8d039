"""``saga``: undone in reverse order, whatever ends it; never by the platform. Cases K19 and K32."""

import asyncio
import random
from collections import Counter

import pytest

from flowli import Context, NonRetryableError, Registry, RetryPolicy
from flowli.domain.errors import ExecutionCancelled, ExecutionFailed, NondeterminismError, NotAllowed
from flowli.testing.replay import replay
from flowli_patterns.public import saga

registry = Registry()
ONCE = RetryPolicy(max_attempts=1)


class World:
    """What stands outside: how often each thing was booked and released."""

    def __init__(self):
        self.log: list[str] = []
        self.fails: set[str] = set()
        self.lost: set[str] = set()
        self.undo_fails: dict[str, int] = {}


world = World()


@pytest.fixture(autouse=True)
def fresh():
    world.__init__()


def book(what: str) -> str:
    if what in world.fails:
        raise NonRetryableError(f"no {what} left")
    world.log.append(f"book {what}")
    if what in world.lost:
        world.lost.discard(what)
        raise TimeoutError(f"no answer about {what}")
    return f"ticket for {what}"


def release(ticket: str) -> None:
    what = ticket.removeprefix("ticket for ")
    left = world.undo_fails.get(what, 0)
    if left:
        world.undo_fails[what] = left - 1
        raise ConnectionError(f"{what} desk is closed")
    world.log.append(f"release {what}")


def release_by_name(what: str) -> None:
    world.log.append(f"release {what} if booked")


@registry.workflow
async def trip(ctx: Context, things: list[str], fail: bool = False) -> list[str]:
    async with saga(ctx) as s:
        tickets = [await s.step(book, thing, undo=release) for thing in things]
        if fail:
            raise ValueError("changed my mind")
    return tickets


@registry.workflow
async def waiting_trip(ctx: Context) -> str:
    async with saga(ctx) as s:
        await s.step(book, "seat", undo=release)
        await s.step(book, "room", undo=release)
        await ctx.receive("go")
    return "gone"


@registry.workflow
async def collecting(ctx: Context, collect_all: bool) -> None:
    async with saga(ctx, undo_retry=ONCE, collect_all=collect_all) as s:
        for thing in ("seat", "room", "car"):
            await s.step(book, thing, undo=release, name=f"book-{thing}")
        raise ValueError("changed my mind")


@registry.workflow
async def paying(ctx: Context, then: str = "") -> str:
    async with saga(ctx) as s:
        await s.step(book, "seat", undo=release)
        await s.step(book, "payment", irreversible=True)
        if then == "step":
            await s.step(book, "room", undo=release)
        if then == "error":
            raise ValueError("too late")
    return "paid"


@registry.workflow
async def by_attempt(ctx: Context) -> str:
    async with saga(ctx) as s:
        await s.step(book, "seat", undo=release, undo_attempt=release_by_name)
        await s.step(book, "room", undo=release, undo_attempt=release_by_name)
    return "booked"


@registry.workflow
async def side_by_side(ctx: Context) -> None:
    async with saga(ctx) as s:
        await asyncio.gather(*(s.step(book, thing, undo=release) for thing in ("seat", "room", "car")))


@registry.workflow
async def book_by_child(ctx: Context, what: str) -> str:
    return await ctx.step(book, what)


@registry.workflow
async def with_children(ctx: Context) -> None:
    async with saga(ctx) as s:
        await s.child(book_by_child, "seat", undo=release)
        await s.child(book_by_child, "room", undo=release)


@registry.workflow
async def wrong(ctx: Context, how: str) -> None:
    s = saga(ctx)
    if how == "outside":
        await s.step(book, "seat", undo=release)
    async with s:
        match how:
            case "no undo":
                await s.step(book, "seat")  # type: ignore[call-overload]
            case "both":
                await s.step(book, "seat", undo=release, irreversible=True)
            case "twice":
                async with s:
                    pass


async def test_a_saga_that_goes_well_undoes_nothing(open_env):
    async with open_env(registry) as env:
        assert await env.run(trip, ["seat", "room"]) == ["ticket for seat", "ticket for room"]
    assert world.log == ["book seat", "book room"]


async def test_completed_actions_are_undone_in_reverse_with_what_they_returned(open_env):
    """PAT-6."""
    world.fails = {"car"}
    async with open_env(registry) as env:
        eid = await env.start(trip, ["seat", "room", "car"])
        await env.run_until_idle()
        with pytest.raises(ExecutionFailed, match="no car left"):
            await env.result(eid)
        assert await env.outline(eid) == [
            "step book completed",
            "step book completed",
            "step book failed",
            "step undo-book completed",
            "step undo-book completed",
        ]
    assert world.log == ["book seat", "book room", "release room", "release seat"]


async def test_an_error_of_the_workflow_itself_undoes_too(open_env):
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match="changed my mind"):
            await env.run(trip, ["seat"], True)
    assert world.log == ["book seat", "release seat"]


async def test_k19_a_cancel_undoes_and_the_execution_ends_cancelled(open_env):
    """K19."""
    async with open_env(registry) as env:
        eid = await env.start(waiting_trip)
        await env.settle()
        await env.clock.drive(env.engine.cancel(eid, "no time"))
        await env.run_until_idle()
        with pytest.raises(ExecutionCancelled, match="no time"):
            await env.result(eid)
    assert world.log == ["book seat", "book room", "release room", "release seat"]


async def test_k32_a_second_cancel_does_not_cut_compensation_off(open_env):
    """K32, PAT-7."""
    world.undo_fails = {"room": 5}
    async with open_env(registry) as env:
        eid = await env.start(waiting_trip)
        await env.settle()
        await env.clock.drive(env.engine.cancel(eid, "no time"))
        await env.settle()
        for n in range(3):
            await env.advance(0.5)
            await env.clock.drive(env.engine.cancel(eid, f"now! {n}"))
            await env.settle()
        await env.run_until_idle()
        assert (await env.status(eid)).status == "cancelled"
    assert world.log == ["book seat", "book room", "release room", "release seat"]


async def test_a_compensation_that_failed_is_named_by_the_status(open_env):
    """PAT-8."""
    world.undo_fails = {"room": 99}
    async with open_env(registry) as env:
        eid = await env.start(collecting, False)
        await env.run_until_idle()
        error = (await env.status(eid)).error
        assert error.type == "flowli_patterns.errors.CompensationFailed"
        assert "undo of 'book-room' failed" in error.message
        assert "room desk is closed" in error.message
        assert "not tried: book-seat; undone: book-car" in error.message
        assert "because of: changed my mind" in error.message
    assert world.log[3:] == ["release car"]


async def test_collect_all_tries_the_others_all_the_same(open_env):
    world.undo_fails = {"room": 99, "car": 99}
    async with open_env(registry) as env:
        eid = await env.start(collecting, True)
        await env.run_until_idle()
        message = (await env.status(eid)).error.message
    assert "undo of 'book-car' failed" in message
    assert "undo of 'book-room' failed" in message
    assert "undone: book-seat" in message
    assert world.log[3:] == ["release seat"]


async def test_a_failed_compensation_hides_no_cancel(open_env):
    world.undo_fails = {"seat": 99}
    async with open_env(registry) as env:
        eid = await env.start(waiting_trip)
        await env.settle()
        await env.clock.drive(env.engine.cancel(eid))
        await env.run_until_idle()
        view = await env.status(eid)
        assert view.status == "failed"
        assert "undo of 'book' failed" in view.error.message


@pytest.mark.parametrize(
    ("then", "told", "log"),
    [
        ("step", "action 'book' follows the irreversible 'book'", ["book seat", "book payment"]),
        ("error", "too late", ["book seat", "book payment"]),
    ],
)
async def test_nothing_follows_an_irreversible_action_and_nothing_is_undone_after_it(open_env, then, told, log):
    """PAT-10."""
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match=told):
            await env.run(paying, then)
    assert world.log == log


async def test_an_irreversible_action_that_fails_undoes_what_came_before(open_env):
    world.fails = {"payment"}
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match="no payment left"):
            await env.run(paying)
    assert world.log == ["book seat", "release seat"]


async def test_a_failed_action_whose_effect_may_have_landed_is_undone_by_its_arguments(open_env):
    world.lost = {"room"}
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match="no answer about room"):
            await env.run(by_attempt)
    assert world.log == ["book seat", "book room", "release room if booked", "release seat"]


async def test_actions_side_by_side_are_waited_for_and_undone(open_env):
    world.fails = {"room"}
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match="no room left"):
            await env.run(side_by_side)
    assert sorted(world.log) == ["book car", "book seat", "release car", "release seat"]


async def test_children_are_actions_too(open_env):
    world.fails = {"room"}
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match="no room left"):
            await env.run(with_children)
    assert world.log == ["book seat", "release seat"]


async def test_the_platform_never_undoes(open_env):
    """PAT-9."""
    async with open_env(registry) as env:
        eid = await env.start(waiting_trip)
        await env.settle()
        await env.restart()  # the coroutine is dropped from memory in the middle of the saga
        await env.signal(eid, "go")
        await env.restart()
        await env.run_until_idle()
        assert await env.result(eid) == "gone"
    assert world.log == ["book seat", "book room"]


@registry.workflow
async def long_trip(ctx: Context) -> str:
    async with saga(ctx) as s:
        for thing in ("seat", "room"):
            await s.step(book, thing, undo=release)
            await ctx.sleep(1)
        await s.child(slow_child, "car", undo=release, undo_attempt=release_by_name)
        await ctx.sleep(1)
        await s.step(book, "boat", undo=release)
    return "gone"


@registry.workflow
async def slow_child(ctx: Context, what: str) -> str:
    await ctx.sleep(2)
    return await ctx.step(book, what)


async def test_k19_k32_a_cancel_at_any_moment_leaves_nothing_booked(backend, open_env):
    """Cancels at random instants, some of them twice: each is one fact, the children get one, and the net is zero."""
    chance = random.Random(1932)
    async with open_env(registry) as env:
        for _ in range(40 if backend == "memory" else 8):
            world.log.clear()
            eid = await env.start(long_trip)
            await env.advance(chance.uniform(0.0, 5.5))
            asked = 1 + chance.randrange(2)
            for _ in range(asked):
                try:
                    await env.clock.drive(env.engine.cancel(eid))
                except NotAllowed:  # it has ended meanwhile
                    asked -= 1
            await env.run_until_idle()
            kinds = Counter(type(entry.body).__name__ for entry in await env.journal(eid))
            if asked == 0:
                assert await env.result(eid) == "gone"
                continue
            assert (await env.status(eid)).status == "cancelled"
            assert 1 <= kinds["ExecutionCancelRequested"] <= asked
            for thing in ("seat", "room", "boat"):
                assert world.log.count(f"book {thing}") == world.log.count(f"release {thing}")
            children = [frame.metadata["eid"] for frame in (await env.frames(eid)).values() if frame.kind == "child"]
            for child in children:
                got = Counter(type(entry.body).__name__ for entry in await env.journal(child))
                assert got["ExecutionCancelRequested"] <= 1
                if "book car" in world.log:
                    assert {"release car", "release car if booked"} & set(world.log)


async def test_k32_code_whose_undo_was_removed_parks_and_is_not_passed_off_as_undone(open_env):
    """The compensation has begun; the next deploy no longer knows it."""
    world.undo_fails = {"room": 99}
    async with open_env(registry) as env:
        eid = await env.start(trip, ["seat", "room"], True)
        await env.settle()
        journal = await env.journal(eid)

    async def without_undo(ctx: Context, things: list[str], fail: bool = False) -> list[str]:
        async with saga(ctx) as s:
            tickets = [await s.step(book, thing, undo=None) for thing in things]
            if fail:
                raise ValueError("changed my mind")
        return tickets

    with pytest.raises(NondeterminismError, match="undo-book"):
        replay(without_undo, journal, registry=registry).check()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("outside", "stands outside of its saga"),
        ("no undo", "has no undo; give undo="),
        ("both", "is irreversible and has an undo"),
        ("twice", "was entered before"),
    ],
)
async def test_what_cannot_work_is_refused(open_env, how, told):
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match=told):
            await env.run(wrong, how)
    assert world.log == []
