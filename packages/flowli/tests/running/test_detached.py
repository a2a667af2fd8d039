"""Steps that workers of another queue run."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from flowli import Context, Defer, NonRetryableError, Registry, Retry, RetryPolicy, Site, StepFailed, step_info
from flowli.domain.entries import FrameDeferred, FrameFailed, FrameFulfilled, FrameStarted
from flowli.domain.errors import ExecutionFailed, NotAllowed, PayloadTooLarge
from flowli.domain.tasks import TaskKind
from flowli.domain.waits import OnStep
from flowli.runtime.engine import Engine
from flowli.runtime.protocols.bury import MAX_DEATHS
from flowli.testing.clock import ManualWorld

from .fleet import Fleet, Process

pytestmark = pytest.mark.parametrize("fleet", ["memory", "files"], indirect=True)

TTL = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "grace_s": 5.0}


class Gpu:
    """The steps of another queue, and what they did."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ran: list[tuple[str, int]] = []
        self.stopped: list[str] = []
        self.pause_s = 0.0
        self.errors: list[BaseException] = []
        fleet.registry.step(self.train)
        fleet.registry.step(self.blocking)

        @fleet.registry.workflow
        async def learn(ctx: Context, name: str = "m", attempts: int = 1, timeout: float | None = None) -> str:
            policy = RetryPolicy(attempts, backoff=timedelta(seconds=1), jitter=0, give_up_on=(KeyError,))
            options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
            return await ctx.step(self.train, name, retry=policy, queue="gpu", **options)

    async def train(self, name: str) -> str:
        info = step_info()
        self.ran.append((info.idempotency_key, info.attempt))
        try:
            await self.fleet.clock.sleep(self.pause_s)
        except asyncio.CancelledError:
            self.stopped.append(name)
            raise
        if self.errors:
            raise self.errors.pop(0)
        return f"trained {name}"

    def blocking(self, n: int) -> int:
        return n * 2


@pytest.fixture
def gpu(fleet: Fleet) -> Gpu:
    return Gpu(fleet)


def workers(fleet: Fleet, **settings: Any) -> tuple[Process, Process]:
    """One worker for workflows, one for the other queue."""
    options = {**TTL, **settings}
    return fleet.process("w", **options).work(), fleet.process("g", **options).work(queues=("gpu",), sweep=False)


async def test_a_step_runs_on_another_queue_while_its_execution_is_suspended(fleet: Fleet, gpu: Gpu) -> None:
    """STP-14."""
    fleet.process("w", **TTL).work()
    eid = await fleet.engine.start("learn", "m1")
    await fleet.until_status(eid, "suspended")
    (task,) = await fleet.tasks("gpu")
    assert (task.kind, task.target) == (TaskKind.RUN_STEP, eid)
    view = await fleet.engine.status(eid)
    assert view.waits_on == (OnStep("root/train#1", 1),)
    fleet.process("g", **TTL).work(queues=("gpu",), sweep=False)
    assert await fleet.value(eid) == "trained m1"
    assert gpu.ran == [(f"{eid}/root/train#1", 1)]
    bodies = [entry.body for entry in await fleet.entries(eid)]
    assert [body.on for body in bodies if isinstance(body, FrameFulfilled)] == [OnStep("root/train#1", 1)]


async def test_who_runs_it_needs_the_step_and_not_the_workflow(fleet: Fleet, gpu: Gpu) -> None:
    """STP-14."""
    fleet.process("w", **TTL).work()
    registry = Registry()
    registry.step(gpu.blocking, name="blocking")

    @fleet.registry.workflow
    async def double(ctx: Context, n: int) -> int:
        return await ctx.step(gpu.blocking, n, queue="gpu") + 1

    eid = await fleet.engine.start(double, 4)
    site = ManualWorld(fleet.clock, name="far")
    engine = Engine(fleet.ports, Site("far"), registry=registry, world=site)
    worker = engine.worker(("gpu",))
    await fleet.until_status(eid, "suspended")
    assert await fleet.run(worker.run_until_idle()) == 1
    assert await fleet.value(eid) == 9
    await fleet.run(worker.drain())


async def test_a_step_that_its_worker_does_not_know_stays_for_one_that_does(fleet: Fleet, gpu: Gpu) -> None:
    """STP-15."""
    fleet.process("w", **TTL).work()
    eid = await fleet.engine.start("learn")
    await fleet.until_status(eid, "suspended")
    engine = Engine(fleet.ports, Site("empty"), registry=Registry(), world=ManualWorld(fleet.clock, name="empty"))
    worker = engine.worker(("gpu",))
    assert await fleet.run(worker.run_once()) == 1
    await fleet.run(worker.drain())
    assert len(await fleet.tasks("gpu")) == 1
    fleet.process("g", **TTL).work(queues=("gpu",), sweep=False)
    assert await fleet.value(eid) == "trained m"


async def test_one_worker_may_take_both_queues(fleet: Fleet, gpu: Gpu) -> None:
    fleet.process("w", **TTL).work(queues=("default", "gpu"))
    assert await fleet.result("learn", "m2") == "trained m2"


async def test_many_detached_steps_run_at_once_and_suspend_their_execution_together(fleet: Fleet, gpu: Gpu) -> None:
    gpu.pause_s = 30.0

    @fleet.registry.workflow
    async def ensemble(ctx: Context, n: int) -> list[str]:
        return list(await ctx.gather(*(ctx.step(gpu.train, f"m{i}", key=f"k{i}", queue="gpu") for i in range(n))))

    workers(fleet)
    began = fleet.app.world.monotonic_s()
    assert await fleet.result(ensemble, 8) == [f"trained m{i}" for i in range(8)]
    assert fleet.app.world.monotonic_s() - began < 90
    assert len(gpu.ran) == 8


async def test_attempts_follow_the_policy_of_the_workflow(fleet: Fleet, gpu: Gpu) -> None:
    """STP-16."""
    workers(fleet)
    gpu.errors = [ValueError("cold"), Retry("warm", after=20)]
    eid = await fleet.engine.start("learn", "m", 3)
    assert await fleet.value(eid) == "trained m"
    assert [attempt for _, attempt in gpu.ran] == [1, 2, 3]
    entries = await fleet.entries(eid)
    failed = [entry for entry in entries if isinstance(entry.body, FrameFailed)]
    assert failed[1].body.retry_at is not None  # type: ignore[union-attr]
    assert failed[1].body.retry_at.us - failed[1].at.us >= 19_000_000  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [KeyError("k"), NonRetryableError("no"), SystemExit(3)])
async def test_an_error_that_the_policy_gives_up_on_is_not_tried_again(
    fleet: Fleet, gpu: Gpu, error: BaseException
) -> None:
    workers(fleet)
    gpu.errors = [error]
    with pytest.raises(ExecutionFailed, match=type(error).__name__):
        await fleet.result("learn", "m", 5)
    assert len(gpu.ran) == 1


async def test_a_deferred_step_runs_again_under_the_same_number(fleet: Fleet, gpu: Gpu) -> None:
    """STP-16."""
    workers(fleet)
    gpu.errors = [Defer(until=30), Defer(until=1), ValueError("x")]
    eid = await fleet.engine.start("learn", "m", 2)
    assert await fleet.value(eid) == "trained m"
    assert [attempt for _, attempt in gpu.ran] == [1, 1, 1, 2]
    bodies = [entry.body for entry in await fleet.entries(eid)]
    assert sum(isinstance(body, FrameDeferred) for body in bodies) == 2
    assert [body.attempt for body in bodies if isinstance(body, FrameStarted)] == [1, 1, 1, 2]


async def test_a_timeout_ends_an_attempt_where_it_runs(fleet: Fleet, gpu: Gpu) -> None:
    """STP-16."""
    workers(fleet)
    gpu.pause_s = 10_000.0
    with pytest.raises(ExecutionFailed, match="longer than its timeout of 7 s"):
        await fleet.result("learn", "m", 1, 7.0)
    assert gpu.stopped == ["m"]


async def test_a_step_longer_than_its_leases_is_run_once(fleet: Fleet, gpu: Gpu) -> None:
    gpu.pause_s = 100.0
    workers(fleet)
    fleet.process("g2", **TTL).work(queues=("gpu",), sweep=False)
    assert await fleet.result("learn") == "trained m"
    assert len(gpu.ran) == 1


async def test_a_worker_that_dies_is_followed_by_another_one(fleet: Fleet, gpu: Gpu) -> None:
    """STP-17."""
    gpu.pause_s = 10.0
    _, first = workers(fleet)
    eid = await fleet.engine.start("learn")

    async def begun() -> bool:
        return bool(gpu.ran)

    await fleet.until(begun)
    first.kill()
    fleet.process("g2", **TTL).work(queues=("gpu",), sweep=False)
    assert await fleet.value(eid) == "trained m"
    assert gpu.ran == [(f"{eid}/root/train#1", 1)] * 2, "an attempt without an outcome was never made"


async def test_an_outcome_that_is_there_is_not_made_again(fleet: Fleet, gpu: Gpu) -> None:
    """STP-23: who ran the step died after its outcome was durable and before it told anyone."""
    fleet.process("w", **TTL).work()
    first = fleet.process("g", **TTL)

    async def die() -> None:
        first.kill()

    first.trouble["queue.enqueue"] = die
    first.work(queues=("gpu",), sweep=False)
    eid = await fleet.engine.start("learn")

    async def dead() -> bool:
        return first.dead

    await fleet.until(dead)
    outcomes = [name for name in await fleet.ports.evidence.list(eid) if name.endswith("/outcome")]
    assert len(outcomes) == 1
    fleet.process("g2", **TTL).work(queues=("gpu",), sweep=False)
    assert await fleet.value(eid) == "trained m"
    assert len(gpu.ran) == 1


async def test_a_cancel_stops_the_step_where_it_runs(fleet: Fleet, gpu: Gpu) -> None:
    """STP-16."""
    gpu.pause_s = 10_000.0
    workers(fleet)
    eid = await fleet.engine.start("learn")

    async def begun() -> bool:
        return bool(gpu.ran)

    await fleet.until(begun)
    await fleet.engine.cancel(eid, "enough")

    async def stopped() -> bool:
        return gpu.stopped == ["m"] and await fleet.tasks("gpu") == []

    await fleet.until(stopped, limit_s=30)
    await fleet.until_status(eid, "cancelled")
    await fleet.check(eid)


async def test_a_cancel_withdraws_a_step_that_nobody_runs_yet(fleet: Fleet, gpu: Gpu) -> None:
    """STP-18."""
    fleet.process("w", **TTL).work()
    eid = await fleet.engine.start("learn")
    await fleet.until_status(eid, "suspended")
    await fleet.engine.cancel(eid, "enough")
    await fleet.until_status(eid, "cancelled")
    await fleet.clock.advance(2)
    assert await fleet.tasks("gpu") == []
    assert gpu.ran == []


async def test_a_terminated_execution_stops_its_steps_and_leaves_no_task(fleet: Fleet, gpu: Gpu) -> None:
    """STP-18."""
    gpu.pause_s = 10_000.0
    workers(fleet)
    fleet.process("idle", **TTL)
    eid = await fleet.engine.start("learn")
    other = await fleet.engine.start("learn", "n")

    async def begun() -> bool:
        return len(gpu.ran) == 2

    await fleet.until(begun)
    await fleet.engine.terminate(eid, "now")

    async def stopped() -> bool:
        return gpu.stopped == ["m"]

    await fleet.until(stopped, limit_s=30)
    await fleet.check(eid)
    assert (await fleet.fold(other)).end is None


async def test_a_step_that_is_given_up_by_the_code_is_stopped_and_the_execution_goes_on(fleet: Fleet, gpu: Gpu) -> None:
    """STP-18."""
    gpu.pause_s = 10_000.0

    @fleet.registry.workflow
    async def impatient(ctx: Context) -> str:
        try:
            async with asyncio.timeout(20):
                return await ctx.step(gpu.train, "m", queue="gpu")
        except TimeoutError:
            return "too slow"

    workers(fleet)
    assert await fleet.result(impatient) == "too slow"
    await fleet.clock.advance(10)
    assert gpu.stopped == ["m"]


async def test_a_step_that_ends_while_its_execution_is_paused_is_found_on_release(fleet: Fleet, gpu: Gpu) -> None:
    gpu.pause_s = 30.0
    workers(fleet, audit_period_s=36_000.0)
    eid = await fleet.engine.start("learn")
    await fleet.until_status(eid, "suspended")
    await fleet.engine.pause(eid, "look at it")
    await fleet.clock.advance(60)
    assert await fleet.tasks() == []
    await fleet.engine.resume(eid, "go on")
    assert await fleet.value(eid, limit_s=120) == "trained m"
    assert len(gpu.ran) == 1


async def test_a_lost_resume_and_a_lost_task_are_found_by_the_audit(fleet: Fleet, gpu: Gpu) -> None:
    """STP-17."""
    owner = fleet.process("w", **TTL, audit_period_s=600.0).work()
    eid = await fleet.engine.start("learn")
    await fleet.until_status(eid, "suspended")
    (lease,) = await fleet.ports.queue.dequeue("gpu", "thief", 6.0)
    await fleet.ports.queue.ack([lease])

    async def put_again() -> bool:
        return bool(await fleet.tasks("gpu"))

    await fleet.until(put_again, limit_s=1300)
    runner = fleet.process("g", **TTL)
    await fleet.run(owner.stop())
    await fleet.run(runner.engine.worker(("gpu",)).run_until_idle())
    (resume,) = await fleet.tasks()
    assert resume.reason == "step"
    (held,) = await fleet.ports.queue.dequeue("default", "thief", 6.0)
    await fleet.ports.queue.ack([held])
    fleet.process("w2", **TTL, audit_period_s=600.0).work()
    assert await fleet.value(eid, limit_s=1300) == "trained m"
    assert len(gpu.ran) == 1


async def test_a_step_that_brings_its_workers_down_fails_with_the_cause(fleet: Fleet, gpu: Gpu) -> None:
    """STP-19."""
    process: list[Process] = []

    async def bite(n: int) -> None:
        gpu.ran.append((step_info().fid, n))
        await fleet.clock.sleep(0.5)
        process[-1].kill()
        await fleet.clock.sleep(10_000)

    fleet.registry.step(bite)

    @fleet.registry.workflow
    async def careful(ctx: Context) -> str:
        try:
            await ctx.step(bite, 1, queue="gpu", retry=RetryPolicy(10))
        except StepFailed as failed:
            return str(failed)
        return "?"

    fleet.process("w", **TTL).work()
    eid = await fleet.engine.start(careful)
    for n in range(MAX_DEATHS + 2):
        process.append(fleet.process(f"g{n}", **TTL).work(queues=("gpu",), sweep=False))
        runner = process[-1]

        async def over(runner: Process = runner) -> bool:
            return runner.dead or (await fleet.fold(eid)).end is not None

        await fleet.until(over, limit_s=600)
    assert "5 workers in a row vanished" in await fleet.value(eid)
    assert len(gpu.ran) == MAX_DEATHS
    (dead,) = await fleet.engine.dead_letters("gpu")
    assert dead.task.target == eid
    with pytest.raises(NotAllowed, match="nobody waits for task"):
        await fleet.engine.retry_dead(dead)
    assert await fleet.engine.drop_dead(dead)


async def test_a_large_outcome_is_read_from_the_evidence(fleet: Fleet) -> None:
    async def write(n: int) -> str:
        return "x" * n

    fleet.registry.step(write)

    @fleet.registry.workflow
    async def large(ctx: Context, n: int) -> str:
        return await ctx.step(write, n, queue="gpu")

    workers(fleet)
    assert await fleet.result(large, 100_000) == "x" * 100_000
    with pytest.raises(ExecutionFailed, match="the limit is"):
        await fleet.result(large, 300_000)


async def test_arguments_over_the_limit_and_unregistered_steps_are_refused(fleet: Fleet, gpu: Gpu) -> None:
    async def unknown() -> None: ...

    @fleet.registry.workflow
    async def wrong(ctx: Context, what: str) -> None:
        if what == "size":
            await ctx.step(gpu.train, "x" * 300_000, queue="gpu")
        elif what == "name":
            await ctx.step(gpu.train, "x", queue="no/queue")
        else:
            await ctx.step(unknown, queue="gpu")

    workers(fleet)
    with pytest.raises(ExecutionFailed, match=r"300,0\d\d bytes and the limit is") as failed:
        await fleet.result(wrong, "size")
    assert PayloadTooLarge.__name__ in str(failed.value)
    with pytest.raises(ExecutionFailed, match="is not a name"):
        await fleet.result(wrong, "name")
    with pytest.raises(ExecutionFailed, match=r"step 'unknown' is to run on another queue and is not registered"):
        await fleet.result(wrong, "unknown")


async def test_drain_gives_a_running_step_back_at_once(fleet: Fleet, gpu: Gpu) -> None:
    gpu.pause_s = 600.0
    _, first = workers(fleet)
    eid = await fleet.engine.start("learn")

    async def begun() -> bool:
        return bool(gpu.ran)

    await fleet.until(begun)
    await fleet.run(first.stop())
    assert gpu.stopped == ["m"]
    (view,) = await fleet.ports.queue.list("gpu")
    assert (view.holder, view.deaths) == (None, 0)
    gpu.pause_s = 0.0
    fleet.process("g2", **TTL).work(queues=("gpu",), sweep=False)
    assert await fleet.value(eid) == "trained m"


async def test_waiting_for_a_detached_step_costs_its_execution_two_commits(fleet: Fleet, gpu: Gpu) -> None:
    owner, _ = workers(fleet)
    await fleet.result("learn")
    owner.calls.clear()
    await fleet.result("learn")
    appends = owner.calls.count("journal.append")
    assert appends <= 3, "its start, its suspension, its end"
