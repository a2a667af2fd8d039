"""K01 on the wire: of an execution of three steps the answer to each request is lost, one in each run.

Time is that of the test, so that every run makes the same requests in the same order, and nothing hangs on how busy the
host is.
"""

from dataclasses import dataclass, field

from flowli import CairnBackend, Engine, Site
from flowli.cairn.database import Cairn
from flowli.cairn.layout import LAYOUT_KEY, ensure_layout
from flowli.cairn.store import ObjectStore
from flowli.domain.entries import ExecutionCompleted
from flowli.stores import open_store
from flowli.testing.clock import ManualClock, ManualWorld

from . import shop
from .conftest import Gate
from .emulators.proxy import Answer, Asked, Forward, passing


@dataclass(frozen=True)
class Ran:
    """How a run ended: what its journal holds, and under which epochs."""

    kinds: tuple[str, ...]
    epochs: frozenset[int | None]


@dataclass
class Sieve:
    """Drops the answer to one request, by its number; 0 for none.

    Attributes:
        seen: how many requests there were.
        dropped: what was sent whose answer was dropped.
    """

    number: int
    seen: int = 0
    dropped: list[Asked] = field(default_factory=list)

    def rule(self, asked: Asked, forward: Forward) -> Answer | None:
        answer = forward(asked)
        self.seen += 1
        if self.seen == self.number:
            self.dropped.append(asked)
            return None
        return answer


async def three_steps(gate: Gate, store: ObjectStore, sieve: Sieve) -> Ran:
    """Start, run and await an execution in an empty bucket; the sieve stands before it meanwhile."""
    clock = ManualClock()
    world = ManualWorld(clock)
    backend = CairnBackend(store, world=world)

    async def run() -> Ran:
        await backend.check()
        gate.proxy.rule = sieve.rule
        engine = Engine(backend.ports, Site.local("w"), registry=shop.registry, world=world)
        eid = await engine.start(shop.fulfil, "a", 3, key="k")
        await engine.worker().run_until_idle()
        assert await engine.result(eid, timeout=30) == ["a-1", "a-2", "a-3"]
        gate.proxy.rule = passing
        entries = (await backend.ports.journal.read(eid)).entries
        await engine.close()
        assert isinstance(entries[-1].body, ExecutionCompleted)
        return Ran(tuple(type(one.body).__name__ for one in entries), frozenset(one.by.site.epoch for one in entries))

    ran = await clock.run(run())
    await store.delete_many(one.key for one in (await store.list("")).items if one.key != LAYOUT_KEY)
    return ran


async def test_a_lost_answer_changes_nothing_whichever_it_is(gate: Gate, record_property) -> None:
    world = ManualWorld()
    store = open_store(gate.url(), world=world)
    await ensure_layout(Cairn(store, world).documents)  # as if it had been tried out before: no run does so
    undisturbed = Sieve(0)
    whole = await three_steps(gate, store, undisturbed)
    assert len(whole.epochs - {None, 0}) == 1, "one lease, never lost"
    for number in range(1, undisturbed.seen + 1):
        sieve = Sieve(number)
        assert await three_steps(gate, store, sieve) == whole, sieve.dropped
        assert len(sieve.dropped) == 1, f"run {number} made {sieve.seen} requests"
    await store.close()
    record_property(f"answers lost, each in a run of three steps, on {gate.service.scheme}", undisturbed.seen)
