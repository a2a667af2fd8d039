"""Try out whether a store keeps the contract that everything stands on, and refuse by name one that does not.

Some servers and emulators accept a condition and do not evaluate it; then every contender wins and state is
overwritten in silence. A dozen requests under ``wf/probe/`` find that out at start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from flowli.cairn.errors import StoreError, StoreThrottled, StoreUnavailable, StoreUnsuitable
from flowli.cairn.keys import MAX_KEY_BYTES
from flowli.cairn.settle import persist
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import World

__all__ = ["probe"]

Result: TypeAlias = Won | Lost | Gone | Unknown


async def probe(
    store: ObjectStore,
    world: World,
    *,
    racers: int = 2,
    thorough: bool = False,
    passed: list[str] | None = None,
) -> tuple[str, ...]:
    """Check a store; what it writes it removes.

    Args:
        store: to be checked.
        world: draws a name that nobody else uses.
        racers: how many writers race for one key; 1 for none.
        thorough: try the longest key too, and race swaps and deletes, which costs ``3 * racers`` requests more.
        passed: is given each check that passed, also if a later one fails.

    Returns:
        The names of the checks, all passed.

    Raises:
        StoreUnsuitable: a check failed; the message names it.
        StoreError: the store refused, or could not be reached.
    """
    trial = _Trial(store, world, [] if passed is None else passed)
    try:
        await trial.create()
        await trial.race(racers)
        await trial.replace()
        await trial.list()
        await trial.delete()
        if thorough:
            await trial.long_key()
            await trial.race_swaps(racers)
            await trial.race_deletes(racers)
    finally:
        await trial.clean()
    return tuple(trial.passed)


class _Trial:
    def __init__(self, store: ObjectStore, world: World, passed: list[str]) -> None:
        self._store = store
        self._world = world
        self._prefix = f"wf/probe/{world.token()}/"
        self._keys = [f"{self._prefix}{name}" for name in ("A", "a", "b/c", "race")]
        self._first = self._second = ""
        self._long = f"{self._prefix}long/".ljust(MAX_KEY_BYTES, "k")
        self.passed = passed

    async def create(self) -> None:
        for key in self._keys[:3]:
            result = await self._put(key, b"1", if_absent=True)
            self._expect("create", isinstance(result, Won), "a new key could not be created")
            if isinstance(result, Won) and key == self._keys[0]:
                self._first = result.version
        again = await self._put(self._keys[0], b"2", if_absent=True)
        self._expect("put-if-absent", isinstance(again, Lost), "a key was created twice")
        found = await persist(self._world, lambda: self._store.get(self._keys[0]))
        same = found is not None and found.data == b"1" and found.version == self._first
        self._expect("read-after-write", same, "a read did not give what was just written")

    async def race(self, racers: int) -> None:
        key = self._keys[3]
        if racers > 1:
            won = await self._race(racers, lambda n: self._store.put(key, str(n).encode(), if_absent=True))
            self._expect("race", won, "several of the writers who raced created one key")

    async def race_swaps(self, racers: int) -> None:
        key = self._keys[3]
        found = await persist(self._world, lambda: self._store.get(key))
        if found is None or racers < 2:
            return
        swap = found.version
        won = await self._race(racers, lambda n: self._store.put(key, f"swap {n}".encode(), if_version=swap))
        self._expect("race of swaps", won, "several of the writers who raced replaced one version")

    async def race_deletes(self, racers: int) -> None:
        key = self._keys[3]
        found = await persist(self._world, lambda: self._store.get(key))
        if found is None or racers < 2 or not self._store.capabilities.conditional_delete:
            return
        version = found.version
        won = await self._race(racers, lambda n: self._store.delete(key, if_version=version))
        self._expect("race of deletes", won, "several of those who raced deleted one version")

    async def long_key(self) -> None:
        done = await self._put(self._long, b"long", if_absent=True)
        found = await persist(self._world, lambda: self._store.get(self._long))
        good = isinstance(done, Won) and found is not None and found.data == b"long"
        self._expect("long key", good, f"a key of {MAX_KEY_BYTES} bytes could not be written and read")

    async def _race(self, racers: int, write: Callable[[int], Awaitable[Result]]) -> bool:
        """Whether at most one of the racers won, and none only if a fate is unknown."""
        results = await asyncio.gather(*(self._one(write, n) for n in range(racers)))
        won = sum(isinstance(one, Won) for one in results)
        return won == 1 or (won == 0 and any(isinstance(one, Unknown) for one in results))

    async def _one(self, write: Callable[[int], Awaitable[Result]], number: int) -> Result:
        # A throttled write was not applied; the race is as good with one writer less.
        try:
            return await write(number)
        except StoreThrottled:
            return Unknown("throttled")

    async def replace(self) -> None:
        key = self._keys[0]
        replaced = await self._put(key, b"3", if_version=self._first)
        self._expect("compare-and-swap", isinstance(replaced, Won), "an unchanged key could not be replaced")
        self._second = replaced.version if isinstance(replaced, Won) else ""
        stale = await self._put(key, b"4", if_version=self._first)
        self._expect("stale compare-and-swap", isinstance(stale, Lost), "a changed key was replaced")
        absent = await self._put(f"{self._prefix}none", b"5", if_version=self._first)
        self._expect("absent compare-and-swap", isinstance(absent, Gone | Lost), "an absent key was replaced")

    async def list(self) -> None:
        page = await persist(self._world, lambda: self._store.list(self._prefix))
        keys = [item.key for item in page.items if not item.key.endswith(("/race", "/none"))]
        self._expect("list-after-write", set(keys) == set(self._keys[:3]), "a listing did not show a key just written")
        self._expect("order", keys == self._keys[:3], "a listing was not in byte order")

    async def delete(self) -> None:
        key = self._keys[0]
        if not self._store.capabilities.conditional_delete:
            return
        stale = await self._settled("stale delete", lambda: self._store.delete(key, if_version=self._first))
        there = await persist(self._world, lambda: self._store.get(key))
        kept = isinstance(stale, Lost) and there is not None
        self._expect("stale delete", kept, "a changed key was deleted")
        done = await self._settled("delete", lambda: self._store.delete(key, if_version=self._second))
        there = await persist(self._world, lambda: self._store.get(key))
        self._expect("delete", isinstance(done, Won) and there is None, "an unchanged key could not be deleted")

    async def clean(self) -> None:
        try:
            await self._store.delete_many([*self._keys, self._long, f"{self._prefix}none"])
        except StoreError:
            return  # what made the trial fail is the news, not that its few objects stay

    async def _put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone:
        return await self._settled(
            "write", lambda: self._store.put(key, data, if_absent=if_absent, if_version=if_version)
        )

    async def _settled(self, what: str, call: Callable[[], Awaitable[Result]]) -> Won | Lost | Gone:
        result = await persist(self._world, call)
        if isinstance(result, Unknown):
            raise StoreUnavailable(f"The store {self._store.url} gave no final answer to a {what}", "Try again")
        return result

    def _expect(self, check: str, good: bool, fault: str) -> None:
        if not good:
            raise StoreUnsuitable(
                f"The store {self._store.url} fails the check '{check}': {fault}",
                "Use a store that evaluates conditions on writes; many emulators and caches do not",
            )
        if check not in self.passed:
            self.passed.append(check)
