"""K01 on the wire: of an execution of three steps, the answer to each request is lost once, two in a run."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from flowli import CairnBackend, Engine, Site
from flowli.domain.entries import ExecutionCompleted
from flowli.world import SYSTEM

from . import shop
from .conftest import Gate
from .emulators.proxy import Answer, Asked, Forward

AT_ONCE = 6


@dataclass(frozen=True)
class Ran:
    """How a run ended: what its journal holds, and under which epochs."""

    kinds: tuple[str, ...]
    epochs: frozenset[int | None]


class Sieve:
    """Drops some answers to the requests of each run, by their number; runs are told apart by their prefix."""

    def __init__(self) -> None:
        self.drop: dict[str, set[int]] = {}
        self.seen: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self._lock = threading.Lock()

    def rule(self, asked: Asked, forward: Forward) -> Answer | None:
        answer = forward(asked)
        with self._lock:
            for run, numbers in self.drop.items():
                if run in asked.target or run.encode() in asked.body[:2000]:
                    self.seen[run] += 1
                    if self.seen[run] in numbers:
                        self.dropped[run] += 1
                        return None
        return answer


async def once(url: str, begins: Callable[[], object]) -> Ran:
    backend = CairnBackend.open(url)
    await backend.check()  # lays out the bucket, which is the operator's business and not an execution's
    begins()
    engine = Engine(backend.ports, Site.local("w"), registry=shop.registry)
    eid = await engine.start(shop.fulfil, "a", 3, key="k")
    await engine.worker().run_until_idle()
    assert await engine.result(eid, timeout=30) == ["a-1", "a-2", "a-3"]
    entries = (await backend.ports.journal.read(eid)).entries
    await engine.close()
    await backend.close()
    assert isinstance(entries[-1].body, ExecutionCompleted)
    return Ran(tuple(type(one.body).__name__ for one in entries), frozenset(one.by.site.epoch for one in entries))


async def test_lost_answers_change_nothing(gate: Gate, record_property) -> None:
    sieve = Sieve()
    gate.proxy.rule = sieve.rule

    async def run(*numbers: int) -> Ran:
        token = SYSTEM.token()
        url = gate.url(token, connections=4)
        return await once(url, lambda: sieve.drop.setdefault(token, set(numbers)))

    whole = await run()
    (total,) = sieve.seen.values()
    record_property(f"requests of three steps on {gate.service.scheme}", total)
    assert len(whole.epochs - {None, 0}) == 1
    half = -(-total // 2)
    for first in range(1, half + 1, AT_ONCE):
        ran = await asyncio.gather(*(run(one, one + half) for one in range(first, min(first + AT_ONCE, half + 1))))
        assert ran == [whole] * len(ran)
    assert sum(sieve.dropped.values()) >= total - 2, "runs differ by a request or two in how they poll"
