"""Bring every request to an end: wait out a throttled or unreachable store, and settle a write whose fate is unknown.

A conditional write that was answered with ``Unknown`` is settled by reading back. From then on ``Lost`` may be the
echo of the caller's own write, so that it is settled the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from flowli.cairn.errors import OutcomeUnknown, StoreError, StoreThrottled, StoreUnavailable
from flowli.cairn.store import Object, ObjectStore
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import World

__all__ = ["Judge", "Patience", "Settled", "persist", "settle"]

T = TypeVar("T")

Judge: TypeAlias = Callable[[Object | None], Won | Lost | Gone | None]
"""What the object now under the key says about a write: applied, not applied and never to be, or None: write again."""

_BUDGET_S = 10.0
_FIRST_S = 0.05
_LONGEST_S = 2.0


class Patience:
    """Jittered, doubling pauses up to a total.

    Args:
        world: the clock and the chance.
        budget_s: no pause begins after so many seconds.
    """

    def __init__(self, world: World, budget_s: float = _BUDGET_S) -> None:
        self._world = world
        self._until_s = world.monotonic_s() + budget_s
        self._pause_s = _FIRST_S

    async def pause(self) -> bool:
        """Wait a while and return True, or return False at once when the total is spent."""
        if self._world.monotonic_s() >= self._until_s:
            return False
        await self._world.sleep(self._pause_s * self._world.random().uniform(0.5, 1.0))
        self._pause_s = min(self._pause_s * 2, _LONGEST_S)
        return True


@dataclass(frozen=True, slots=True)
class Settled:
    """How a write ended.

    Attributes:
        result: never unknown.
        seen: the object read back, when ``looked``.
        looked: whether the key was read after the write.
    """

    result: Won | Lost | Gone
    seen: Object | None = None
    looked: bool = False


async def persist(world: World, request: Callable[[], Awaitable[T]], patience: Patience | None = None) -> T:
    """Repeat a request that is safe to repeat until it is answered.

    Raises:
        StoreThrottled, StoreUnavailable: it still is after about ten seconds.
        StoreError: any other refusal, at once.
    """
    patience = patience or Patience(world)
    while True:
        try:
            return await request()
        except (StoreThrottled, StoreUnavailable):
            if not await patience.pause():
                raise


async def settle(
    store: ObjectStore,
    world: World,
    key: str,
    write: Callable[[], Awaitable[Won | Lost | Gone | Unknown]],
    judge: Judge,
) -> Settled:
    """Carry out a conditional write on ``key`` until its fate is known.

    Args:
        write: the request; repeated with the same bytes and the same condition only.
        judge: reads the fate of the write from the object that is there now.

    Raises:
        OutcomeUnknown: it may have been applied, and about ten seconds did not settle it.
        StoreError: it was refused and never applied.
    """
    patience = Patience(world)
    unsure = False
    cause = ""
    while True:
        try:
            result = await write()
        except (StoreThrottled, StoreUnavailable) as error:
            if await patience.pause():
                continue
            if unsure:
                raise _unknown(key, str(error)) from error
            raise
        except StoreError as error:
            if unsure:
                raise _unknown(key, str(error)) from error
            raise
        if isinstance(result, Won) or (not isinstance(result, Unknown) and not unsure):
            return Settled(result)
        if isinstance(result, Unknown):
            cause = result.cause
        unsure = True
        try:
            seen = await persist(world, lambda: store.get(key), patience)
        except StoreError as error:
            raise _unknown(key, str(error)) from error
        verdict = judge(seen)
        if verdict is not None:
            return Settled(verdict, seen, looked=True)
        if not await patience.pause():
            raise _unknown(key, cause)


def _unknown(key: str, cause: str) -> OutcomeUnknown:
    because = f" ({cause.rstrip('.')})" if cause else ""
    return OutcomeUnknown(
        f"Whether the write of {key!r} was applied is unknown{because}",
        "Ask again under the same name; an owner must take itself for fenced",
    )
