"""Whatever is asked in whatever order: the backend on an object store answers as the memory backend does.

What names a state to one backend (tokens), and where its commits lie, is its own affair; the rest is compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.memory import MemoryBackend
from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports import Acquired, Holder, LeaseRequest, Ports, StartClaim
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import Task, TaskKind
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

EIDS = [Eid(f"019b76da-a800-7c79-988e-00000000000{n}") for n in range(3)]
SITE = Site("w", "h", 1)
TTL_S = 10.0
PRIVATE = {"token": "", "idle_s": 0.0, "commit": 0, "position": START}

eids, holders, epochs = st.sampled_from(EIDS), st.sampled_from("ab"), st.integers(0, 4)


class Unhurried(ManualWorld):
    """Pauses take no time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


def public(answer: Any) -> Any:
    """An answer without what is private to its backend."""
    if is_dataclass(answer) and not isinstance(answer, type):
        hidden = {name: value for name, value in PRIVATE.items() if name in {one.name for one in fields(answer)}}
        shown = {one.name: public(getattr(answer, one.name)) for one in fields(answer) if one.name not in hidden}
        return type(answer).__name__, shown
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return [public(one) for one in answer]
    return answer


class Both(RuleBasedStateMachine):
    """Two backends on one clock. An answer is a pair of theirs, and may be given back to them in later questions."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        world = Unhurried(self.clock)
        self.loop = asyncio.new_event_loop()
        backends = (MemoryBackend(ManualWorld(self.clock)), CairnBackend(MemoryStore(world=world), world=world))
        self.ports: list[Ports] = [backend.ports for backend in backends]

    def teardown(self) -> None:
        self.loop.close()

    @property
    def by(self) -> Provenance:
        return Provenance(Actor(ActorKind.WORKER, "w"), SITE, self.clock.now())

    def ask(self, question: Callable[..., Awaitable[Any]], *given: Sequence[Any]) -> list[Any]:
        """Ask both, each with its own of what is ``given``; they must answer alike."""

        async def one(ports: Ports, mine: tuple[Any, ...]) -> Any:
            try:
                return await question(ports, *mine)
            except LeaseLost:
                return "lost"

        mine = zip(*given, strict=True) if given else [(), ()]
        found = [self.loop.run_until_complete(one(*both)) for both in zip(self.ports, mine, strict=True)]
        assert public(found[0]) == public(found[1])
        return found

    @rule(seconds=st.sampled_from([1.0, TTL_S + 1]))
    def time_passes(self, seconds: float) -> None:
        self.loop.run_until_complete(self.clock.advance(seconds))


class OwnershipModel(Both):
    leases = Bundle("leases")

    @rule(target=leases, eid=eids, holder=holders, free=st.none() | epochs, look=st.booleans(), force=st.booleans())
    def acquire(self, eid: Eid, holder: str, free: int | None, look: bool, force: bool) -> Any:
        async def take(ports: Ports) -> Any:
            seen = await ports.ownership.read(eid) if look else None
            return await ports.ownership.acquire(
                eid, Holder(holder, SITE), TTL_S, free_epoch=free, seen=seen, force=force, state={"of": holder}
            )

        found = self.ask(take)
        return [got.lease for got in found] if isinstance(found[0], Acquired) else multiple()

    @rule(lease=leases, applied=st.sets(st.sampled_from("xyz")))
    def renew(self, lease: Any, applied: set[str]) -> None:
        self.ask(lambda ports, mine: ports.ownership.renew(mine, applied=sorted(applied), state={"n": 1}), lease)

    @rule(lease=consumes(leases))
    def release(self, lease: Any) -> None:
        self.ask(lambda ports, mine: ports.ownership.release(mine), lease)

    @rule(eid=eids, request=st.sampled_from("xyz"))
    def request(self, eid: Eid, request: str) -> None:
        by = self.by
        self.ask(lambda ports: ports.ownership.request(eid, LeaseRequest(request, "cancel", by)))

    @rule(eid=eids)
    def read(self, eid: Eid) -> None:
        self.ask(lambda ports: ports.ownership.read(eid))


def test_a_lease_that_was_taken_by_force_counts_no_death() -> None:
    model = OwnershipModel()
    model.acquire(eid=EIDS[0], holder="a", free=None, look=False, force=False)
    model.time_passes(seconds=TTL_S + 1)
    model.acquire(eid=EIDS[0], holder="a", free=None, look=False, force=True)
    model.teardown()


class DispatchModel(Both):
    decisions = Bundle("decisions")
    starts = Bundle("starts")

    @rule(key=st.sampled_from("kl"), value=st.integers(0, 3))
    def claim(self, key: str, value: int) -> None:
        self.ask(lambda ports: ports.dispatch.claim(key, value))

    @rule(target=decisions, prefix=st.sampled_from(["", "k", "x"]), after=st.sampled_from(["", "k"]))
    def claims(self, prefix: str, after: str) -> Any:
        found = self.ask(lambda ports: ports.dispatch.claims(prefix, after=after))
        return multiple(*map(list, zip(*found, strict=True)))

    @rule(found=decisions)
    def forget_claim(self, found: Any) -> None:
        self.ask(lambda ports, mine: ports.dispatch.forget_claim(mine), found)

    @rule(target=starts, key=st.sampled_from("st"), eid=eids)
    def claim_start(self, key: str, eid: Eid) -> Any:
        wanted = StartClaim(key, 1, eid, "main", "1", "digest", self.by, f"asked for {eid}")
        return self.ask(lambda ports: ports.dispatch.claim_start(wanted))

    @rule(target=starts, found=starts, eid=eids, fold=st.booleans())
    def replace_start(self, found: Any, eid: Eid, fold: bool) -> Any:
        at = self.clock.now()

        async def put(ports: Ports, mine: StartClaim) -> Any:
            new = replace(mine, folded_at=at) if fold else replace(mine, generation=mine.generation + 1, eid=eid)
            return await ports.dispatch.replace_start(mine, new)

        return self.ask(put, found)

    @rule(found=starts)
    def forget_start(self, found: Any) -> None:
        self.ask(lambda ports, mine: ports.dispatch.forget_start(mine), found)

    @rule(key=st.sampled_from("st"))
    def read_start(self, key: str) -> None:
        self.ask(lambda ports: ports.dispatch.read_start(key))


class ChannelModel(Both):
    positions = Bundle("positions")
    channel = "orders"

    @rule(target=positions, ident=st.sampled_from(["m1", "m2", "m3"]))
    def send(self, ident: str) -> Any:
        message = Message(ident, self.channel, {"of": ident}, self.by)
        sent = self.ask(lambda ports: ports.channel.send(message))
        return [Position(one.commit, one.seq) for one in sent]

    @rule(after=positions)
    def read_after(self, after: Any) -> None:
        self.ask(lambda ports, mine: ports.channel.read(self.channel, after=mine), after)

    @rule()
    def read(self) -> None:
        self.ask(lambda ports: ports.channel.read(self.channel))
        self.ask(lambda ports: ports.channel.markers(self.channel))

    @rule(number=st.integers(0, 5))
    def redact(self, number: int) -> None:
        async def one(ports: Ports) -> None:
            messages = (await ports.channel.read(self.channel)).messages
            if number < len(messages):
                await ports.channel.redact(messages[number])

        self.ask(one)

    @rule(eid=eids, epoch=epochs)
    def mark(self, eid: Eid, epoch: int) -> None:
        self.ask(lambda ports: ports.channel.mark(WaitMarker(self.channel, eid, epoch, ("root/receive#1",))))

    @rule(eid=eids, epoch=epochs)
    def unmark(self, eid: Eid, epoch: int) -> None:
        self.ask(lambda ports: ports.channel.unmark(self.channel, eid, up_to_epoch=epoch))
        self.ask(lambda ports: ports.channel.marker(self.channel, eid))


class QueueModel(Both):
    leases = Bundle("leases")
    tasks = st.builds(
        lambda eid, key, priority: (eid, key, priority), eids, st.sampled_from("xy"), st.sampled_from([10, 50])
    )

    def task(self, told: tuple[Eid, str, int]) -> Task:
        eid, key, priority = told
        return Task("default", TaskKind.RESUME, eid, self.clock_at_start, self.by_at_start, key, priority=priority)

    def __init__(self) -> None:
        super().__init__()
        self.by_at_start, self.clock_at_start = self.by, self.clock.now()

    @rule(told=tasks)
    def enqueue(self, told: tuple[Eid, str, int]) -> None:
        self.ask(lambda ports: ports.queue.enqueue(self.task(told)))

    @rule(told=tasks)
    def withdraw(self, told: tuple[Eid, str, int]) -> None:
        self.ask(lambda ports: ports.queue.withdraw(self.task(told)))

    @rule(target=leases, holder=holders)
    def dequeue(self, holder: str) -> Any:
        async def take(ports: Ports) -> Any:
            found = await ports.queue.dequeue("default", holder, TTL_S, limit=50)
            return sorted(found, key=lambda lease: (lease.task.priority, lease.task.task_id))

        return multiple(*map(list, zip(*self.ask(take), strict=True)))

    @rule(lease=leases, alive=st.booleans())
    def renew(self, lease: Any, alive: bool) -> None:
        self.ask(lambda ports, mine: ports.queue.renew(mine, alive=alive), lease)

    @rule(lease=consumes(leases))
    def ack(self, lease: Any) -> None:
        self.ask(lambda ports, mine: ports.queue.ack([mine]), lease)

    @rule(lease=consumes(leases), alive=st.booleans())
    def nack(self, lease: Any, alive: bool) -> None:
        self.ask(lambda ports, mine: ports.queue.nack(mine, alive=alive), lease)

    @rule()
    def read(self) -> None:
        async def seen(ports: Ports) -> Any:
            return sorted(view.task.task_id for view in await ports.queue.list("default"))

        self.ask(seen)


for model in (OwnershipModel, DispatchModel, ChannelModel, QueueModel):
    model.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestOwnership = OwnershipModel.TestCase
TestDispatch = DispatchModel.TestCase
TestChannel = ChannelModel.TestCase
TestQueue = QueueModel.TestCase
