"""What holds for a queue fleet-wide: settings, slots (how many tasks are held at once) and rate (how many are started).

Slots. The document ``limits/slots`` names every task that is held, or about to be. Whoever wants to take a task

1. puts its key among the slots, if fewer than ``concurrency`` are in it or the key is there already;
2. takes the task;
3. reads the slots again: a key that is missing or doubted means that the task must be given back.

A holder takes its key out before it lets the task go. One that died leaves both: who takes the task over finds its
slot there. A slot whose task nobody holds (a crash between 1 and 2) is cleared when no slot is free: it is marked as
doubted, the task is read once more, and only if still nobody holds it the slot goes. With step 3 no interleaving lets a
task be held without a slot.

Rate. The document ``limits/rate`` holds the instants of the last starts; a start is counted before the task is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import cast

from flowli.adapters.cairndb.scan import read_all
from flowli.cairn.objects import Changed, Created, Doc, Documents, Swapped
from flowli.cairn.values import JSON
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.tasks import QueueSettings
from flowli.world import World

__all__ = ["Limits"]

_CACHED_S = 2.0
_CLEAR_EVERY_S = 5.0
_FIELDS = frozenset(QueueSettings.__dataclass_fields__)


class Limits:
    """The limits of all queues, as one process keeps to them."""

    def __init__(self, documents: Documents, world: World) -> None:
        self._documents = documents
        self._world = world
        self._settings: dict[str, tuple[QueueSettings, float]] = {}
        self._cleared: dict[str, float] = {}

    async def settings(self, queue: str, *, fresh: bool = False) -> QueueSettings:
        """The settings of a queue, up to two seconds old unless ``fresh``. One request when they are read."""
        known = self._settings.get(queue)
        now_s = self._world.monotonic_s()
        if known is not None and not fresh and now_s - known[1] < _CACHED_S:
            return known[0]
        doc = await self._documents.read(keys.settings(queue))
        found = QueueSettings() if doc is None else load(QueueSettings, doc.body)
        self._settings[queue] = (found, now_s)
        return found

    async def configure(self, queue: str, settings: QueueSettings) -> None:
        """Change the settings of a queue; the last writer wins."""

        def change(body: dict[str, JSON]) -> dict[str, JSON]:
            unknown = {name: value for name, value in body.items() if name not in _FIELDS}
            return {**unknown, **dump(settings)}

        await self._change(keys.settings(queue), change)
        self._settings[queue] = (settings, self._world.monotonic_s())

    async def admit(self, queue: str, settings: QueueSettings, wanted: Sequence[str]) -> list[str]:
        """Which of the tasks under ``wanted``, in this order, may be taken now; they count from this moment."""
        admitted = list(wanted)
        if settings.concurrency is not None and admitted:
            admitted = await self._take_slots(queue, settings.concurrency, admitted)
        if settings.rate is not None and admitted:
            granted = await self._take_rate(queue, settings.rate, settings.rate_period_s, len(admitted))
            await self.leave(queue, settings, admitted[granted:])
            admitted = admitted[:granted]
        return admitted

    async def confirm(self, queue: str, settings: QueueSettings, taken: Collection[str]) -> set[str]:
        """Which of the tasks just taken have a slot."""
        if settings.concurrency is None or not taken:
            return set(taken)
        doc = await self._documents.read(keys.slots(queue))
        slots = _slots(doc)
        return {key for key in taken if slots.get(key) is False}

    async def leave(self, queue: str, settings: QueueSettings, held: Collection[str]) -> None:
        """Free the slots of tasks that are about to be let go."""
        if settings.concurrency is None or not held:
            return

        def change(body: dict[str, JSON]) -> dict[str, JSON] | None:
            slots = _slots_of(body)
            left = {key: doubted for key, doubted in slots.items() if key not in held}
            return None if len(left) == len(slots) else _with_slots(body, left)

        await self._change(keys.slots(queue), change)

    async def _take_slots(self, queue: str, concurrency: int, wanted: Sequence[str]) -> list[str]:
        admitted: list[str] = []

        def change(body: dict[str, JSON]) -> dict[str, JSON] | None:
            admitted.clear()
            slots = _slots_of(body)
            for key in wanted:
                if key in slots or len(slots) < concurrency:
                    slots[key] = False
                    admitted.append(key)
            return _with_slots(body, slots) if admitted else None

        await self._change(keys.slots(queue), change)
        if len(admitted) < len(wanted) and self._may_clear(queue) and await self._clear_stale(queue):
            await self._change(keys.slots(queue), change)
        return admitted

    def _may_clear(self, queue: str) -> bool:
        """Looking at every slot is not for every dequeue of a queue that is simply full."""
        now_s = self._world.monotonic_s()
        if now_s - self._cleared.get(queue, -_CLEAR_EVERY_S) < _CLEAR_EVERY_S:
            return False
        self._cleared[queue] = now_s
        return True

    async def _clear_stale(self, queue: str) -> bool:
        """Take out slots whose task nobody holds; whether there were any."""
        doc = await self._documents.read(keys.slots(queue))
        if doc is None:
            return False
        slots = _slots(doc)
        stale = await self._not_held(slots)
        suspects = {key for key in stale if not slots[key]}
        if suspects:
            doubted = await self._documents.swap(
                doc, _with_slots(doc.body, {key: doubt or key in suspects for key, doubt in slots.items()})
            )
            if not isinstance(doubted, Swapped):
                return False
            doc = doubted.doc
            # from here on who takes one of them sees the doubt; who took one before is seen by this second look
            stale -= suspects - await self._not_held(suspects)
        if not stale and not suspects:
            return False
        left = {key: False if key in suspects else doubt for key, doubt in slots.items() if key not in stale}
        return isinstance(await self._documents.swap(doc, _with_slots(doc.body, left)), Swapped) and bool(stale)

    async def _not_held(self, slots: Collection[str]) -> set[str]:
        held = {doc.key for doc in await read_all(self._documents, sorted(slots)) if doc.body.get("holder") is not None}
        return set(slots) - held

    async def _take_rate(self, queue: str, rate: int, period_s: float, wanted: int) -> int:
        granted = 0

        def change(body: dict[str, JSON]) -> dict[str, JSON] | None:
            nonlocal granted
            earlier = cast("list[int]", body.get("starts", []))
            now_us = max(self._world.now().us, *earlier[-1:], 0)
            recent = [at for at in earlier if at > now_us - round(period_s * 1_000_000)]
            granted = max(0, min(wanted, rate - len(recent)))
            return {**body, "starts": cast("JSON", [*recent, *[now_us] * granted])} if granted else None

        await self._change(keys.rate(queue), change)
        return granted

    async def _change(self, key: str, change: Callable[[dict[str, JSON]], dict[str, JSON] | None]) -> None:
        """Make a document what ``change`` makes of it, however often others come first; None leaves it."""
        doc = await self._documents.read(key)
        while True:
            body = change({} if doc is None else dict(doc.body))
            if body is None:
                return
            if doc is None:
                created = await self._documents.create(key, body)
                if isinstance(created, Created):
                    return
                doc = created.doc
                continue
            outcome = await self._documents.swap(doc, body)
            if not isinstance(outcome, Changed):
                return
            doc = outcome.doc


def _slots(doc: Doc | None) -> dict[str, bool]:
    return {} if doc is None else _slots_of(doc.body)


def _slots_of(body: dict[str, JSON]) -> dict[str, bool]:
    return dict(cast("dict[str, bool]", body.get("slots", {})))


def _with_slots(body: dict[str, JSON], slots: dict[str, bool]) -> dict[str, JSON]:
    return {**body, "slots": cast("JSON", slots)}
