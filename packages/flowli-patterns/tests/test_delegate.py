"""``delegate``: a task on a queue, the answer on a channel, and what becomes of both when nobody waits any more."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from flowli import Consumer, Context, Registry, Site
from flowli.domain.channels import Message
from flowli.domain.delegate import Answer, AnswerOutcome, Delegate
from flowli.domain.errors import ExecutionFailed
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli_patterns.public import DelegateTimeout, delegate

registry = Registry()
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Summary:
    words: int


@registry.workflow
async def ask(ctx: Context, text: str) -> str:
    return await delegate(ctx, "agents", {"text": text}, timeout=HOUR, as_type=str)


@registry.workflow
async def ask_twice(ctx: Context) -> list[Summary]:
    return await ctx.gather(*(delegate(ctx, "agents", {"text": one}, as_type=Summary) for one in ("a b", "c")))


@registry.workflow
async def ask_in_vain(ctx: Context) -> str:
    try:
        return await delegate(ctx, "agents", timeout=HOUR)
    except DelegateTimeout as late:
        return f"withdrawn: {late.withdrawn}"


async def answer(env, handler) -> int:
    consumer = Consumer(env.engine.ports, "agents", handler, site=Site("agent"), world=env.engine.world)
    return await env.clock.drive(consumer.run_once())


async def loop_by_hand(env, handler) -> int:
    """A consumer that somebody wrote on the ports alone: deliver first, ack second, wake who waits."""
    ports = env.engine.ports
    leases = await env.clock.drive(ports.queue.dequeue("agents", "by-hand", 60.0))
    for lease in leases:
        envelope, reply_to = lease.task.payload, lease.task.payload["reply_to"]
        value = await handler(Delegate(envelope["payload"], task_id=lease.task.task_id))
        data = Answer(AnswerOutcome.COMPLETED, value).to_data()
        await env.clock.drive(env.engine.signal(reply_to["eid"], reply_to["channel"], data, key=lease.task.task_id))
        await env.clock.drive(ports.queue.ack([lease]))
    return len(leases)


async def shout(work: Delegate) -> str:
    return work.payload["text"].upper()


@pytest.mark.parametrize("consume", [answer, loop_by_hand])
async def test_the_answer_of_the_consumer_is_the_result(open_env, consume):
    """PAT-4: of ``Consumer``, and of a loop that somebody wrote."""
    async with open_env(registry) as env:
        eid = await env.start(ask, "why")
        await env.settle()
        assert await consume(env, shout) == 1
        assert await consume(env, shout) == 0
        await env.run_until_idle()
        assert await env.result(eid) == "WHY"
        assert await env.outline(eid) == ["effect enqueue completed", "receive _delegate-1 completed"]


async def test_two_at_once_get_their_own_answers_in_the_annotated_type(open_env):
    async def count(work: Delegate) -> dict[str, int]:
        return {"words": len(work.payload["text"].split())}

    async with open_env(registry) as env:
        eid = await env.start(ask_twice)
        await env.settle()
        assert await answer(env, count) + await answer(env, count) == 2
        await env.run_until_idle()
        assert await env.result(eid) == [Summary(2), Summary(1)]


async def test_a_failure_of_the_consumer_is_told(open_env):
    async def fail(work: Delegate) -> str:
        raise ValueError("cannot read it")

    async with open_env(registry) as env:
        eid = await env.start(ask, "why")
        await env.settle()
        await answer(env, fail)
        await env.run_until_idle()
        with pytest.raises(ExecutionFailed, match=r"delegated to queue 'agents' .* failed: ValueError: cannot read it"):
            await env.result(eid)


async def test_an_answer_of_another_type_is_a_failure(open_env):
    async def many(work: Delegate) -> list[int]:
        return [1]

    async with open_env(registry) as env:
        eid = await env.start(ask_twice)
        await env.settle()
        await answer(env, many)
        await env.run_until_idle()
        with pytest.raises(ExecutionFailed, match="answer"):
            await env.result(eid)


async def test_a_message_that_is_no_answer_is_a_failure(open_env):
    async with open_env(registry) as env:
        eid = await env.start(ask, "why")
        await env.settle()
        await env.signal(eid, "_delegate-1", {"hello": 1})
        await env.run_until_idle()
        with pytest.raises(ExecutionFailed, match="an answer has the form"):
            await env.result(eid)


async def test_a_timeout_withdraws_the_task(open_env):
    """PAT-5."""
    async with open_env(registry) as env:
        eid = await env.start(ask_in_vain)
        await env.run_until_idle()
        assert await env.result(eid) == "withdrawn: True"
        assert await answer(env, shout) == 0


async def test_a_timeout_while_a_consumer_works_says_so(open_env):
    async with open_env(registry) as env:
        eid = await env.start(ask_in_vain)
        await env.settle()
        queue = env.engine.ports.queue
        assert await env.clock.drive(queue.dequeue("agents", "slow", 9999.0))
        await env.run_until_idle()
        assert await env.result(eid) == "withdrawn: False"


async def test_an_answer_at_the_last_moment_is_not_lost(open_env):
    """The consumer delivers, and dies before anybody is woken: the deadline finds the answer."""
    async with open_env(registry) as env:
        eid = await env.start(ask_in_vain)
        await env.settle()
        ports, world = env.engine.ports, env.engine.world
        (lease,) = await env.clock.drive(ports.queue.dequeue("agents", "slow", 9999.0))
        by = Provenance(Actor(ActorKind.WORKER, "slow"), Site("slow"), world.now())
        payload = Answer(AnswerOutcome.COMPLETED, "just in time").to_data()
        await env.clock.drive(ports.channel.send(Message(lease.task.task_id, f"{eid}._delegate-1", payload, by)))
        await env.clock.drive(ports.queue.ack([lease]))
        await env.run_until_idle()
        assert await env.result(eid) == "just in time"


async def test_a_cancel_withdraws_the_task(open_env):
    """PAT-5."""
    async with open_env(registry) as env:
        eid = await env.start(ask, "why")
        await env.settle()
        await env.clock.drive(env.engine.cancel(eid))
        await env.run_until_idle()
        assert (await env.status(eid)).status == "cancelled"
        assert await answer(env, shout) == 0


async def test_a_crashed_worker_delegates_once(open_env):
    """PAT-4."""
    async with open_env(registry) as env:
        eid = await env.start(ask, "why")
        await env.settle()
        await env.restart()
        assert await answer(env, shout) == 1
        assert await answer(env, shout) == 0
        await env.run_until_idle()
        assert await env.result(eid) == "WHY"
