from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from flowli.domain.channels import WaitMarker
from flowli.domain.entries import START
from flowli.domain.errors import (
    DispatchConflict,
    InvalidName,
    InvalidValue,
    NotAllowed,
    PayloadTooLarge,
    UnknownExecution,
)
from flowli.domain.waits import OnChannel, OnTimer

if TYPE_CHECKING:
    from .conftest import Bench, Owner


async def waiting(bench: Bench) -> tuple[UUID, str]:
    """An execution that waits on its channel ``signature``."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    channel = f"{eid}.signature"
    await (await bench.own(eid)).suspend(OnChannel(channel))
    return eid, channel


async def test_a_signal_to_who_waits_is_a_message_and_a_resume(bench: Bench) -> None:
    eid, channel = await waiting(bench)
    await bench.clock.advance(5)
    assert await bench.engine.signal(eid, "signature", {"by": "Ada"}) == 1
    (message,) = (await bench.ports.channel.read(channel)).messages
    (task,) = await bench.tasks()
    assert message.payload == {"by": "Ada"}
    assert (task.target, task.key, task.cause_at) == (eid, f"message:{channel}:1", message.sent_by.at)


async def test_an_early_signal_is_kept_and_wakes_nobody(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    assert await bench.engine.signal(eid, "signature", "first") == 1
    assert await bench.engine.signal(eid, "signature", "second") == 2
    found = await bench.ports.channel.read(f"{eid}.signature")
    assert [message.payload for message in found.messages] == ["first", "second"]
    assert await bench.reasons() == ["start"]


async def test_a_signal_to_nobody_is_refused_and_nothing_is_stored(bench: Bench) -> None:
    """WAI-15."""
    nobody = bench.world.uuid7()
    with pytest.raises(UnknownExecution, match=str(nobody)):
        await bench.engine.signal(nobody, "signature")
    assert (await bench.ports.channel.end(f"{nobody}.signature")) == START


async def test_a_signal_to_an_execution_that_has_ended_is_refused_and_nothing_is_stored(bench: Bench) -> None:
    """WAI-15."""
    eid = await bench.engine.start("greet", "Ada")
    await (await bench.own(eid)).complete()
    with pytest.raises(NotAllowed, match="ended"):
        await bench.engine.signal(eid, "signature")
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(100_000)
    await bench.engine.retention(0).run_once()
    assert await bench.ports.executions.get(eid) is None
    with pytest.raises(NotAllowed, match="ended"):
        await bench.engine.signal(eid, "signature")
    assert (await bench.ports.channel.end(f"{eid}.signature")) == START


async def test_a_keyed_signal_is_sent_once_and_wakes_each_time(bench: Bench) -> None:
    """WAI-6."""
    eid, channel = await waiting(bench)
    first = await bench.engine.signal(eid, "signature", "yes", key="form:7")
    put = await bench.drain()
    await bench.clock.advance(60)
    assert await bench.engine.signal(eid, "signature", "yes", key="form:7") == first
    assert len((await bench.ports.channel.read(channel)).messages) == 1
    assert [(task.key, task.cause_at) for task in await bench.tasks()] == [(task.key, task.cause_at) for task in put]


async def test_a_key_cannot_stand_for_another_message(bench: Bench) -> None:
    eid, _ = await waiting(bench)
    await bench.engine.signal(eid, "signature", "yes", key="form:7")
    with pytest.raises(DispatchConflict, match="form:7"):
        await bench.engine.signal(eid, "signature", "no", key="form:7")
    with pytest.raises(DispatchConflict, match="form:7"):
        await bench.engine.signal(eid, "signature", "yes", key="form:7", correlation="x")


async def test_a_broadcast_wakes_everyone_who_waits_on_the_channel(bench: Bench) -> None:
    """WAI-17."""
    eids = [await bench.engine.start("sign", f"contract {n}") for n in range(3)]
    await bench.drain()
    for eid in eids[:2]:
        await (await bench.own(eid)).suspend(OnChannel("closing"))
    assert await bench.engine.broadcast("closing", "at six") == 1
    assert sorted(task.target for task in await bench.tasks()) == sorted(eids[:2])


async def test_a_signal_tells_the_owner_in_this_process(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    told: list[str] = []
    bench.engine.hub.owned(eid, told.append)
    await bench.engine.signal(eid, "signature")
    assert told == [f"message:{eid}.signature:1"]


async def test_a_message_sent_while_the_execution_goes_to_sleep_is_never_missed(bench: Bench) -> None:
    """Whichever acts first at each step, the sender puts a RESUME or the receiver finds the message (WAI-5)."""
    for sender_waits in range(12):
        eid = await bench.engine.start("sign", "contract")
        await bench.drain()
        owner, channel = await bench.own(eid), f"{eid}.signature"

        async def go_to_sleep(owner: Owner = owner, channel: str = channel) -> bool:
            await bench.ports.channel.mark(_marker(owner, channel))
            return (await bench.ports.channel.end(channel)).seq > 0

        async def send(eid: UUID = eid, turns: int = sender_waits) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            await bench.engine.signal(eid, "signature")

        found, _ = await asyncio.gather(go_to_sleep(), send())
        assert found or await bench.reasons() == ["message"]
        await bench.drain()


def _marker(owner: Owner, channel: str) -> WaitMarker:
    return WaitMarker(channel, owner.execution.eid, owner.lease.epoch, ("root/receive#1",))


async def test_bad_signals_are_refused_before_anything_is_read(bench: Bench) -> None:
    eid, channel = await waiting(bench)
    for call, error in [
        (bench.engine.signal(eid, "a.b"), InvalidName),
        (bench.engine.signal("1234", "signature"), InvalidName),
        (bench.engine.signal(eid, "signature", object()), InvalidValue),
        (bench.engine.signal(eid, "signature", "x" * 300_000), PayloadTooLarge),
        (bench.engine.signal(eid, "signature", key="a b"), InvalidName),
        (bench.engine.broadcast(f"{eid}.signature"), InvalidName),
    ]:
        with pytest.raises(error):
            await call
    assert (await bench.ports.channel.end(channel)) == START


async def test_an_end_by_an_operator_removes_the_markers(bench: Bench) -> None:
    eid, channel = await waiting(bench)
    await bench.engine.terminate(eid)
    assert await bench.ports.channel.marker(channel, eid) is None
    with pytest.raises(NotAllowed):
        await bench.engine.signal(eid, "signature")


async def test_a_wait_for_a_timer_only_is_not_woken_by_a_signal(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await (await bench.own(eid)).suspend(OnTimer(bench.world.now()))
    await bench.engine.signal(eid, "signature")
    assert await bench.tasks() == []
