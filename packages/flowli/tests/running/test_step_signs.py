"""What steps say while they run: heartbeats with progress, and what they print and log."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
import structlog

from flowli import Context, Defer, RetryPolicy, heartbeat, step_info
from flowli.domain.errors import ExecutionFailed, InvalidName, UnknownExecution

from .fleet import Fleet, Process

pytestmark = pytest.mark.parametrize("fleet", ["memory", "files"], indirect=True)

TTL = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "grace_s": 5.0}


class Long:
    """Steps that report how far they are."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.before: list[Any] = []
        self.fail_first = False
        fleet.registry.step(self.copy)

        @fleet.registry.workflow
        async def long(ctx: Context, n: int, queue: str | None = None) -> int:
            return await ctx.step(
                self.copy, n, queue=queue, retry=RetryPolicy(2, backoff=timedelta(seconds=1), jitter=0)
            )

        @fleet.registry.workflow
        async def quiet(ctx: Context, queue: str | None = None) -> int:
            return await ctx.step(self.silent, queue=queue, heartbeat_timeout=8)

        fleet.registry.step(self.silent)

    async def copy(self, n: int) -> int:
        info = step_info()
        self.before.append(info.progress)
        for at in range(n):
            heartbeat({"rows": at})
            await self.fleet.clock.sleep(1)
        if self.fail_first and info.attempt == 1:
            raise OSError("once")
        return n

    async def silent(self) -> int:
        for _ in range(20):  # as long as it says something it may be slow
            heartbeat()
            await self.fleet.clock.sleep(1)
        await self.fleet.clock.sleep(10_000)
        return 0


@pytest.fixture
def long(fleet: Fleet) -> Long:
    return Long(fleet)


def workers(fleet: Fleet, **settings: Any) -> tuple[Process, Process]:
    options = {**TTL, **settings}
    return fleet.process("w", **options).work(), fleet.process("g", **options).work(queues=("gpu",), sweep=False)


@pytest.mark.parametrize("queue", [None, "gpu"])
async def test_progress_is_seen_while_the_step_runs_and_gone_afterwards(
    fleet: Fleet, long: Long, queue: str | None
) -> None:
    """STP-20."""
    workers(fleet)
    eid = await fleet.engine.start("long", 12, queue)
    await fleet.clock.advance(8)
    said = await fleet.engine.progress(eid)
    (one,) = said.values()
    assert (one.fid, one.attempt) == ("root/copy#1", 1)
    assert one.value["rows"] >= 3
    assert (await fleet.engine.status(eid)).progress == said
    assert await fleet.value(eid) == 12
    assert await fleet.engine.progress(eid) == {}


@pytest.mark.parametrize("queue", [None, "gpu"])
async def test_the_attempt_after_a_death_finds_what_was_said_last(fleet: Fleet, long: Long, queue: str | None) -> None:
    """STP-20."""
    owner, runner = workers(fleet)
    eid = await fleet.engine.start("long", 9, queue)
    await fleet.clock.advance(8)
    (runner if queue else owner).kill()
    fleet.process("second", **TTL).work(queues=(queue or "default",))
    assert await fleet.value(eid) == 9
    first, second = long.before
    assert first is None
    assert second["rows"] >= 3


async def test_the_next_attempt_in_the_same_worker_finds_what_was_said_last(fleet: Fleet, long: Long) -> None:
    workers(fleet)
    long.fail_first = True
    assert await fleet.result("long", 4) == 4
    assert long.before == [None, {"rows": 3}]


async def test_progress_costs_no_request_of_its_own(fleet: Fleet, long: Long) -> None:
    """STP-20."""
    owner, _ = workers(fleet)
    await fleet.result("long", 1)
    counts = []
    for said in (True, False):
        owner.calls.clear()
        if said:
            await fleet.result("long", 10)
        else:

            async def wait() -> None:
                await fleet.clock.sleep(10)

            @fleet.registry.workflow
            async def mute(ctx: Context) -> None:
                await ctx.step(wait)

            await fleet.result(mute)
        counts.append(sum(call.startswith("ownership.") for call in owner.calls))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("queue", [None, "gpu"])
async def test_an_attempt_that_says_nothing_for_too_long_fails(fleet: Fleet, long: Long, queue: str | None) -> None:
    """STP-21."""
    workers(fleet)
    with pytest.raises(ExecutionFailed, match="said nothing for its heartbeat timeout of 8 s"):
        await fleet.result("quiet", queue)


async def test_progress_that_cannot_be_shown_is_refused_in_the_step(fleet: Fleet) -> None:
    fleet.process("w", **TTL).work()

    async def much() -> None:
        heartbeat("x" * 5_000)

    @fleet.registry.workflow
    async def refused(ctx: Context) -> None:
        await ctx.step(much)

    with pytest.raises(ExecutionFailed, match=r"5,002 bytes and the limit is 4,096"):
        await fleet.result(refused)


class Talk:
    """Steps that print and log."""

    def __init__(self, fleet: Fleet) -> None:
        fleet.registry.step(self.talk)
        fleet.registry.step(self.block)

        @fleet.registry.workflow
        async def talking(ctx: Context, queue: str | None = None) -> str:
            retry = RetryPolicy(2, backoff=timedelta(seconds=1))
            first = await ctx.step(self.talk, "a", queue=queue, retry=retry)
            return first + await ctx.step(self.block, "b", queue=queue, retry=retry)

        @fleet.registry.workflow
        async def deferring(ctx: Context) -> str:
            return await ctx.step(self.later, [])

        self.deferrals = 2

    async def talk(self, name: str) -> str:
        self.block(name)
        return name

    async def later(self, _: list[int]) -> str:
        print("not yet", self.deferrals)
        if self.deferrals:
            self.deferrals -= 1
            raise Defer(until=1)
        return "now"

    def block(self, name: str) -> str:
        attempt = step_info().attempt
        print(f"printed {name} {attempt}")
        logging.getLogger("app").warning("logged %s %s", name, attempt)
        bound = structlog.contextvars.get_contextvars()
        print(f"bound {bound['fid']} {bound['attempt']}")
        if attempt == 1:
            raise OSError("once")
        return name


def lines(name: str, attempt: int) -> str:
    return (
        f"printed {name} {attempt}\nWARNING logged {name} {attempt}\n"
        f"bound root/{'talk' if name == 'a' else 'block'}#1 {attempt}\n"
    )


@pytest.mark.parametrize("queue", [None, "gpu"])
async def test_failed_attempts_keep_their_lines_once_and_with_their_ids(fleet: Fleet, queue: str | None) -> None:
    """STP-13."""
    Talk(fleet)
    workers(fleet)
    eid = await fleet.engine.start("talking", queue)
    assert await fleet.value(eid) == "ab"
    logs = await fleet.engine.logs(eid)
    assert [(log.fid, log.attempt, log.text) for log in logs] == [
        ("root/block#1", 1, lines("b", 1)),
        ("root/talk#1", 1, lines("a", 1)),
    ]
    assert await fleet.engine.logs(eid, "root/talk#1") == logs[1:]
    assert await fleet.engine.logs(eid, "root/none#1") == []


async def test_all_attempts_keep_their_lines_if_that_is_wanted(fleet: Fleet) -> None:
    """STP-22."""
    Talk(fleet)
    workers(fleet, attempt_logs="all")
    eid = await fleet.engine.start("talking")
    assert await fleet.value(eid) == "ab"
    logs = await fleet.engine.logs(eid, "root/talk#1")
    assert [(log.attempt, log.text) for log in logs] == [(1, lines("a", 1)), (2, lines("a", 2))]
    eid = await fleet.engine.start("deferring")
    assert await fleet.value(eid) == "now"
    logs = await fleet.engine.logs(eid)
    assert [(log.run, log.text) for log in logs] == [(n + 1, f"not yet {2 - n}\n") for n in range(3)]


async def test_no_attempt_keeps_its_lines_if_that_is_wanted(fleet: Fleet) -> None:
    """STP-22."""
    Talk(fleet)
    owner, _ = workers(fleet, attempt_logs="none")
    eid = await fleet.engine.start("talking")
    assert await fleet.value(eid) == "ab"
    assert await fleet.engine.logs(eid) == []
    assert "evidence.put" not in owner.calls


async def test_logs_of_what_does_not_exist_are_refused(fleet: Fleet) -> None:
    with pytest.raises(UnknownExecution):
        await fleet.engine.logs("0197a1b2-0000-7000-8000-000000000000")
    eid = await fleet.engine.start(_registered(fleet))
    with pytest.raises(InvalidName, match="is not a frame id"):
        await fleet.engine.logs(eid, "../../x")


def _registered(fleet: Fleet) -> str:
    @fleet.registry.workflow
    async def nothing(ctx: Context) -> None: ...

    return "nothing"
