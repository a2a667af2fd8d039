"""``Queue`` in memory."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from flowli.adapters.memory.turn import turn
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskLease, TaskView
from flowli.timestamp import Timestamp
from flowli.world import World

__all__ = ["MemoryQueue"]

T = TypeVar("T")


@dataclass(slots=True)
class _Item:
    """A ready task and the state of its lease."""

    task: Task
    holder: str | None = None
    epoch: int = 0
    ttl_s: float = 0.0
    deaths: int = 0
    changed_s: float = 0.0
    free_at_s: float = float("-inf")

    def lease(self) -> TaskLease:
        return TaskLease(self.task, self.holder or "", self.epoch, self.ttl_s, self.deaths, str(self.epoch))


@dataclass(slots=True)
class _Shelf:
    """One queue. Keys sort in the order in which tasks are given out."""

    ready: dict[tuple[int, int, str], _Item] = field(default_factory=dict)
    delayed: dict[tuple[int, int, str], Task] = field(default_factory=dict)
    dead: dict[tuple[int, int, str], DeadTask] = field(default_factory=dict)
    settings: QueueSettings = field(default_factory=QueueSettings)
    taken_s: deque[float] = field(default_factory=deque)


def _key(task: Task) -> tuple[int, int, str]:
    return task.priority, task.cause_at.us, task.task_id


def _delayed_key(task: Task) -> tuple[int, int, str]:
    assert task.not_before is not None
    return task.not_before.us, task.priority, task.task_id


class MemoryQueue:
    """Ready, delayed and dead tasks by queue.

    Of a delayed task that was promoted both twins stand until it is done: the delayed one is removed first. So a
    promotion that comes late can only leave a ready task without its twin, which is removed unrun.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._shelves: defaultdict[str, _Shelf] = defaultdict(_Shelf)

    async def enqueue(self, task: Task) -> bool:
        """Put if absent."""
        await turn()
        shelf = self._shelves[task.queue]
        if task.not_before is None:
            return _put(shelf.ready, _key(task), _Item(task))
        return _put(shelf.delayed, _delayed_key(task), task)

    async def dequeue(self, queue: str, holder: str, ttl_s: float, *, limit: int = 1) -> Sequence[TaskLease]:
        """Look at the tasks in order; take each that is free at the moment of taking."""
        await turn()
        shelf, taken = self._shelves[queue], list[TaskLease]()
        for key in sorted(shelf.ready):
            if len(taken) >= limit:
                break
            item = shelf.ready.get(key)
            if item is None or not self._free(item):
                continue
            await turn()
            if shelf.ready.get(key) is not item or not self._free(item):
                continue  # somebody was faster
            if item.task.not_before is not None and _delayed_key(item.task) not in shelf.delayed:
                del shelf.ready[key]
            elif self._open(shelf):
                taken.append(self._take(shelf, item, holder, ttl_s))
            else:
                break
        return taken

    async def renew(self, lease: TaskLease, *, alive: bool = False) -> TaskLease:
        """Touch the lease."""
        await turn()
        item = self._held(lease)
        if item is None:
            raise LeaseLost(f"task {lease.task.task_id} is no longer held by {lease.holder}")
        item.changed_s = self._world.monotonic_s()
        item.deaths = 0 if alive else item.deaths
        return item.lease()

    async def ack(self, leases: Iterable[TaskLease]) -> None:
        """Remove the delayed twin first and the ready task second, if the lease still stands."""
        for lease in leases:
            await self._remove(lease)

    async def nack(self, lease: TaskLease, *, delay_s: float = 0.0, alive: bool = True) -> None:
        """Leave the task without a holder."""
        await turn()
        item = self._held(lease)
        if item is not None:
            item.holder, item.free_at_s = None, self._world.monotonic_s() + delay_s
            item.deaths = 0 if alive else item.deaths

    async def withdraw(self, task: Task) -> bool:
        """Remove both twins of a task that nobody holds."""
        await turn()
        shelf = self._shelves[task.queue]
        item = shelf.ready.get(_key(task))
        if item is not None and item.holder is not None:
            return False
        twin = None if task.not_before is None else shelf.delayed.pop(_delayed_key(task), None)
        return shelf.ready.pop(_key(task), None) is not None or twin is not None

    async def find(self, queue: str, eid: Eid, *, limit: int = 100) -> Sequence[TaskView]:
        """Those of ``list`` that are for ``eid``."""
        return [view for view in await self.list(queue, limit=limit) if view.task.target == eid]

    async def list(self, queue: str, *, limit: int = 100) -> Sequence[TaskView]:
        """Ready ones, then delayed ones that are not ready yet."""
        await turn()
        shelf = self._shelves[queue]
        views = [
            TaskView(item.task, item.holder, item.epoch, item.deaths)
            for _, item in sorted(shelf.ready.items(), key=_first)
        ]
        waiting = [task for _, task in sorted(shelf.delayed.items(), key=_first) if _key(task) not in shelf.ready]
        return [*views, *(TaskView(task, delayed=True) for task in waiting)][:limit]

    async def queues(self) -> Sequence[str]:
        """Names in order."""
        await turn()
        return sorted(name for name, shelf in self._shelves.items() if shelf.ready or shelf.delayed or shelf.dead)

    async def promote(self, queue: str, now: Timestamp) -> int:
        """Put the ready twin of each delayed task that is due; the delayed twin stays until the ack."""
        await turn()
        shelf, promoted = self._shelves[queue], 0
        due = [task for key, task in sorted(shelf.delayed.items(), key=_first) if key[0] <= now.us]
        for task in due:
            await turn()
            promoted += _put(shelf.ready, _key(task), _Item(task))
        return promoted

    async def bury(self, lease: TaskLease, cause: str, at: Timestamp) -> None:
        """Dead first, ready second."""
        await turn()
        if self._held(lease) is not None:
            dead = DeadTask(lease.task, cause, lease.deaths, at)
            self._shelves[lease.task.queue].dead[_key(lease.task)] = dead
            await self._remove(lease)

    async def dead(self, queue: str, *, limit: int = 100) -> Sequence[DeadTask]:
        """By the instant of their death."""
        await turn()
        dead = self._shelves[queue].dead.items()
        return [task for _, task in sorted(dead, key=lambda pair: (pair[1].died_at, pair[0]))][:limit]

    async def revive(self, dead: DeadTask) -> bool:
        """Ready first, dead second. Its delay, if it had one, is over: nothing promotes it again."""
        await turn()
        shelf, key = self._shelves[dead.task.queue], _key(dead.task)
        if key not in shelf.dead:
            return False
        item = shelf.ready.setdefault(key, _Item(replace(dead.task, not_before=None)))
        item.deaths = 0
        await turn()
        return shelf.dead.pop(key, None) is not None

    async def discard(self, dead: DeadTask) -> bool:
        """Remove it from the dead."""
        await turn()
        return self._shelves[dead.task.queue].dead.pop(_key(dead.task), None) is not None

    async def settings(self, queue: str) -> QueueSettings:
        """What was configured last."""
        await turn()
        return self._shelves[queue].settings

    async def configure(self, queue: str, settings: QueueSettings) -> None:
        """Replace."""
        await turn()
        self._shelves[queue].settings = settings

    async def _remove(self, lease: TaskLease) -> None:
        await turn()
        shelf = self._shelves[lease.task.queue]
        if self._held(lease) is None:
            return
        if lease.task.not_before is not None:
            shelf.delayed.pop(_delayed_key(lease.task), None)
            await turn()
        if self._held(lease) is not None:
            del shelf.ready[_key(lease.task)]

    def _held(self, lease: TaskLease) -> _Item | None:
        """The task, if this very lease still stands. One that has expired stands until somebody takes it."""
        item = self._shelves[lease.task.queue].ready.get(_key(lease.task))
        return item if item is not None and item.holder is not None and item.epoch == lease.epoch else None

    def _expired(self, item: _Item) -> bool:
        return item.holder is not None and self._world.monotonic_s() - item.changed_s >= item.ttl_s

    def _free(self, item: _Item) -> bool:
        return self._expired(item) or (item.holder is None and self._world.monotonic_s() >= item.free_at_s)

    def _take(self, shelf: _Shelf, item: _Item, holder: str, ttl_s: float) -> TaskLease:
        item.deaths += self._expired(item)
        item.holder, item.ttl_s, item.epoch = holder, ttl_s, item.epoch + 1
        item.changed_s = self._world.monotonic_s()
        shelf.taken_s.append(item.changed_s)
        return item.lease()

    def _open(self, shelf: _Shelf) -> bool:
        """Whether the settings let one more task be taken now."""
        settings, now_s = shelf.settings, self._world.monotonic_s()
        while shelf.taken_s and now_s - shelf.taken_s[0] >= settings.rate_period_s:
            shelf.taken_s.popleft()
        if settings.paused is not None or (settings.rate is not None and len(shelf.taken_s) >= settings.rate):
            return False
        if settings.concurrency is None:
            return True
        held = sum(item.holder is not None and not self._expired(item) for item in shelf.ready.values())
        return held < settings.concurrency


def _put(where: dict[tuple[int, int, str], T], key: tuple[int, int, str], value: T) -> bool:
    """Put if absent."""
    if key in where:
        return False
    where[key] = value
    return True


def _first(pair: tuple[tuple[int, int, str], object]) -> tuple[int, int, str]:
    return pair[0]
