from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowli.domain.channels import WaitMarker
from flowli.domain.data import Data
from flowli.domain.delegate import Answer, AnswerOutcome, Delegate
from flowli.domain.errors import BackendUnavailable, LeaseLost, Retry
from flowli.domain.provenance import Site
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.consumer import DRAINING, LEASE_LOST, Consumer

if TYPE_CHECKING:
    from uuid import UUID

    from .conftest import Bench

Handle = Callable[[Delegate], Awaitable[Data]]


async def delegated(bench: Bench, payload: Data = "paint it", **envelope: Data) -> UUID:
    """An execution that has delegated a piece of work and waits for its answer."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await bench.ports.channel.mark(WaitMarker(f"{eid}.reply", eid, 1, ("root/receive#1",)))
    data: Data = {"payload": payload, "reply_to": {"eid": str(eid), "channel": "reply"}, **envelope}
    await bench.ports.queue.enqueue(
        Task("agents", TaskKind.DELEGATE, eid, bench.world.now(), bench.by, key="d1", payload=data)
    )
    return eid


def consumer(bench: Bench, handler: Handle, **options: Any) -> Consumer:
    return Consumer(
        options.pop("ports", bench.ports), "agents", handler, site=Site("agent"), world=bench.world, **options
    )


async def answers(bench: Bench, eid: UUID) -> list[Answer]:
    found = await bench.ports.channel.read(f"{eid}.reply")
    return [Answer.from_data(message.payload) for message in found.messages]


async def test_an_answer_is_delivered_wakes_its_execution_and_ends_the_task(bench: Bench) -> None:
    eid = await delegated(bench, {"colour": "red"}, correlation="c-1")
    seen: list[Delegate] = []

    async def paint(delegate: Delegate) -> Data:
        seen.append(delegate)
        return {"painted": True}

    assert await consumer(bench, paint).run_once() == 1
    assert await answers(bench, eid) == [Answer(AnswerOutcome.COMPLETED, {"painted": True})]
    (message,) = (await bench.ports.channel.read(f"{eid}.reply")).messages
    assert (message.correlation, message.id) == ("c-1", f"DELEGATE:{eid}:d1")
    assert await bench.reasons() == ["message"]
    assert await bench.tasks("agents") == []
    (delegate,) = seen
    assert (delegate.payload, delegate.eid, delegate.delivery) == ({"colour": "red"}, eid, 1)


async def test_an_error_of_the_handler_is_answered_as_a_failure(bench: Bench) -> None:
    eid = await delegated(bench)

    async def paint(delegate: Delegate) -> Data:
        raise ValueError("no paint left")

    await consumer(bench, paint).run_once()
    (answer,) = await answers(bench, eid)
    assert answer.outcome is AnswerOutcome.FAILED
    assert answer.error is not None
    assert (answer.error.type, answer.error.message) == ("builtins.ValueError", "no paint left")
    assert await bench.tasks("agents") == []


async def test_a_value_that_cannot_be_recorded_is_answered_as_a_failure(bench: Bench) -> None:
    eid = await delegated(bench)

    async def paint(delegate: Delegate) -> Data:
        return object()  # type: ignore[return-value]

    await consumer(bench, paint).run_once()
    assert [answer.outcome for answer in await answers(bench, eid)] == [AnswerOutcome.FAILED]


async def test_a_consumer_that_died_before_its_answer_is_replaced_by_another(bench: Bench) -> None:
    eid = await delegated(bench)

    async def for_ever(delegate: Delegate) -> Data:
        await asyncio.Event().wait()
        return None

    first = asyncio.ensure_future(consumer(bench, for_ever).run_once())
    await bench.clock.settle()
    await bench.clock.advance(100)
    assert await consumer(bench, for_ever).run_once() == 0
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await bench.clock.advance(31)
    deliveries: list[int] = []

    async def paint(delegate: Delegate) -> Data:
        deliveries.append(delegate.delivery)
        return "done"

    assert await consumer(bench, paint).run_once() == 1
    assert deliveries == [2]
    assert await answers(bench, eid) == [Answer(AnswerOutcome.COMPLETED, "done")]


async def test_an_answer_that_was_delivered_but_not_acked_is_not_worked_on_again(bench: Bench) -> None:
    """QUE-12."""
    eid = await delegated(bench)

    runs = 0

    async def paint(delegate: Delegate) -> Data:
        nonlocal runs
        runs += 1
        return delegate.delivery

    class NoAck:
        def __getattr__(self, name: str) -> Any:
            return getattr(bench.ports.queue, name)

        async def ack(self, leases: object) -> None:
            raise BackendUnavailable("no answer")

        async def nack(self, lease: object, **options: object) -> None:
            raise BackendUnavailable("no answer")

    await consumer(bench, paint, ports=replace(bench.ports, queue=NoAck())).run_once()
    await bench.drain()
    await bench.clock.advance(31)
    assert await consumer(bench, paint).run_once() == 1
    assert await answers(bench, eid) == [Answer(AnswerOutcome.COMPLETED, 1)]
    assert await bench.reasons() == ["message"]
    assert await bench.tasks("agents") == []
    assert runs == 1


async def test_a_lost_lease_stops_the_work_at_once_and_nothing_is_answered(bench: Bench) -> None:
    eid = await delegated(bench)
    stopped: list[float] = []

    async def paint(delegate: Delegate) -> Data:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(bench.world.monotonic_s())
        return None

    async def lost(lease: object) -> Any:
        raise LeaseLost("taken over")

    running = asyncio.ensure_future(consumer(bench, paint).run_once())
    await bench.clock.settle()
    bench.ports.queue.renew = lost  # type: ignore[method-assign, assignment]
    await bench.clock.advance(60)
    assert running.done()
    assert stopped == [10.0]
    assert await answers(bench, eid) == []
    assert len(await bench.tasks("agents")) == 1


async def test_renewals_that_fail_for_a_whole_ttl_stop_the_work(bench: Bench) -> None:
    await delegated(bench)

    async def paint(delegate: Delegate) -> Data:
        await asyncio.Event().wait()
        return None

    async def unavailable(lease: object) -> Any:
        raise BackendUnavailable("no answer")

    running = asyncio.ensure_future(consumer(bench, paint).run_once())
    await bench.clock.settle()
    bench.ports.queue.renew = unavailable  # type: ignore[method-assign, assignment]
    await bench.clock.advance(29)
    assert not running.done()
    await bench.clock.advance(2)
    assert running.done()


async def test_a_long_piece_of_work_keeps_its_task(bench: Bench) -> None:
    eid = await delegated(bench)

    async def paint(delegate: Delegate) -> Data:
        await bench.world.sleep(1000)
        return "done"

    running = asyncio.ensure_future(consumer(bench, paint).run_once())
    for _ in range(40):
        await bench.clock.advance(25)
        assert await bench.ports.queue.dequeue("agents", "thief", 30.0) == []
    await bench.clock.advance(5)
    assert await running == 1
    assert await answers(bench, eid) == [Answer(AnswerOutcome.COMPLETED, "done")]


async def test_retry_gives_the_task_back_for_a_while(bench: Bench) -> None:
    eid = await delegated(bench)

    async def paint(delegate: Delegate) -> Data:
        if delegate.delivery == 1:
            raise Retry("the shop is closed", after=60)
        return "done"

    worker = consumer(bench, paint)
    await worker.run_once()
    await bench.clock.advance(59)
    assert await worker.run_once() == 0
    await bench.clock.advance(1)
    assert await worker.run_once() == 1
    assert await answers(bench, eid) == [Answer(AnswerOutcome.COMPLETED, "done")]


async def test_tasks_of_the_engine_are_given_back_untouched(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", queue="agents")

    async def never(delegate: Delegate) -> Data:
        raise AssertionError("this is not for a consumer")

    await consumer(bench, never).run_once()
    (task,) = await bench.tasks("agents")
    assert (task.kind, task.target) == (TaskKind.START, eid)


async def test_a_payload_that_is_no_delegate_is_set_aside_with_its_cause(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    task = Task("agents", TaskKind.DELEGATE, eid, bench.world.now(), bench.by, key="d", payload={"paint": "it"})
    await bench.ports.queue.enqueue(task)

    async def never(delegate: Delegate) -> Data:
        raise AssertionError("it cannot be read")

    await consumer(bench, never).run_once()
    (dead,) = await bench.ports.queue.dead("agents")
    assert "payload" in dead.cause


async def test_work_that_nobody_waits_for_is_done_without_an_answer(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    task = Task("agents", TaskKind.DELEGATE, eid, bench.world.now(), bench.by, key="d", payload={"payload": 1})
    await bench.ports.queue.enqueue(task)
    done: list[Data] = []

    async def paint(delegate: Delegate) -> Data:
        done.append(delegate.payload)
        return None

    await consumer(bench, paint).run_once()
    assert done == [1]
    assert await bench.tasks("agents") == []


async def test_no_more_than_parallel_tasks_are_worked_on_and_stop_finishes_them(bench: Bench) -> None:
    for _ in range(7):
        await delegated(bench)
    at_once = most = done = 0

    async def paint(delegate: Delegate) -> Data:
        nonlocal at_once, most, done
        at_once += 1
        most = max(most, at_once)
        await bench.world.sleep(10)
        at_once -= 1
        done += 1
        return None

    worker = consumer(bench, paint, parallel=2)
    running = asyncio.ensure_future(worker.run())
    await bench.clock.advance(25)
    worker.stop()
    await bench.clock.advance(25)
    assert running.done()
    assert (most, done) == (2, 6)
    assert len(await bench.tasks("agents")) == 1


async def test_a_handler_is_told_why_it_is_cancelled(bench: Bench) -> None:
    await delegated(bench)
    why: list[object] = []

    async def paint(delegate: Delegate) -> Data:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as stopped:
            why.extend(stopped.args)
            raise
        return None

    async def lost(lease: object) -> Any:
        raise LeaseLost("taken over")

    worker = consumer(bench, paint)
    running = asyncio.ensure_future(worker.run())
    await bench.clock.settle()
    draining = asyncio.ensure_future(worker.drain(20.0))
    await bench.clock.advance(19)
    assert why == []
    await bench.clock.advance(1)
    await draining
    assert running.done()
    assert why == [DRAINING]
    again = asyncio.ensure_future(consumer(bench, paint).run_once())  # it was given back and can be taken at once
    await bench.clock.settle()
    bench.ports.queue.renew = lost  # type: ignore[method-assign, assignment]
    await bench.clock.advance(60)
    assert again.done()
    assert why == [DRAINING, LEASE_LOST]


async def test_a_drain_lets_work_end_within_its_grace(bench: Bench) -> None:
    eid = await delegated(bench)

    async def paint(delegate: Delegate) -> Data:
        await bench.world.sleep(10)
        return "done"

    worker = consumer(bench, paint)
    running = asyncio.ensure_future(worker.run())
    await bench.clock.settle()
    draining = asyncio.ensure_future(worker.drain(20.0))
    await bench.clock.advance(10)
    await draining
    assert running.done()
    assert await answers(bench, eid) == [Answer(AnswerOutcome.COMPLETED, "done")]
    await consumer(bench, paint).drain(0.0)  # nothing is under way


async def test_what_was_kept_for_a_task_is_let_go_after_the_ack(bench: Bench) -> None:
    eid = await delegated(bench)
    seen: list[tuple[str, int, int]] = []

    async def paint(delegate: Delegate) -> Data:
        return "done"

    async def done(delegate: Delegate) -> None:
        seen.append((delegate.task_id, len(await answers(bench, eid)), len(await bench.tasks("agents"))))

    await consumer(bench, paint, done=done).run_once()
    assert seen == [(f"DELEGATE:{eid}:d1", 1, 0)]
