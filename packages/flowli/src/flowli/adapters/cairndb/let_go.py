"""Letting go of tasks: renewing them, giving them back, removing them, setting them aside.

Whatever is removed goes in one order: the slot, the delayed twin, the ready key. So a ready key without its delayed
twin says that its task was done, and a promotion that comes late makes no second run.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from flowli.adapters.cairndb.queue_state import QueueState
from flowli.adapters.cairndb.scan import list_keys
from flowli.adapters.cairndb.task_doc import (
    dead_body,
    dead_of,
    fresh_body,
    given_back,
    task_lease,
)
from flowli.cairn.errors import LeaseGone
from flowli.cairn.objects import Created, Doc, Swapped
from flowli.domain import keys
from flowli.domain.tasks import DeadTask, Task, TaskLease
from flowli.timestamp import Timestamp

__all__ = ["ack", "bury", "discard", "nack", "renew", "revive", "withdraw"]


async def renew(state: QueueState, lease: TaskLease, *, alive: bool) -> TaskLease:
    """Write the lease anew.

    Raises:
        LeaseGone: it is held no more.
    """
    found = await state.holding(lease)
    if found is None:
        raise _gone(lease)
    try:
        renewed = await state.leases.renew(found, deaths=0 if alive else None)
    except LeaseGone:
        state.let_go(found.key)
        raise
    state.hold(renewed)
    return task_lease(renewed)


async def ack(state: QueueState, leases: Iterable[TaskLease]) -> None:
    """Remove tasks that are done."""
    by_queue: defaultdict[str, list[TaskLease]] = defaultdict(list)
    for lease in leases:
        by_queue[lease.task.queue].append(lease)
    for queue, held in by_queue.items():
        await state.free_slots(queue, [keys.ready(lease.task) for lease in held])
        results = await asyncio.gather(*(_remove(state, lease) for lease in held), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result


async def nack(state: QueueState, lease: TaskLease, *, delay_s: float, alive: bool) -> None:
    """Give a task back."""
    key, queue = keys.ready(lease.task), lease.task.queue
    found = await state.holding(lease)
    if found is None:
        return
    await state.free_slots(queue, [key])
    not_before = state.world.now() + timedelta(seconds=delay_s) if delay_s > 0 else None
    while found is not None:
        outcome = await state.documents.swap(found.doc, given_back(found, not_before, alive=alive))
        if isinstance(outcome, Swapped):
            state.let_go(key)
            state.known.note(state.leases.view(outcome.doc))
            state.became_ready(queue, key)
            return
        found = await state.holding(lease, fresh=True)
    state.let_go(key)


async def withdraw(state: QueueState, task: Task) -> bool:
    """Remove a task that nobody holds."""
    key = keys.ready(task)
    doc = await state.documents.read(key)
    if doc is not None and state.leases.view(doc).holder is not None:
        return False
    removed = False
    if task.not_before is not None:
        removed = await _remove_twin(state, task)
    if doc is not None:
        removed = await state.documents.remove(doc)
        state.known.forget(key)
    return removed


async def bury(state: QueueState, lease: TaskLease, cause: str, at: Timestamp) -> None:
    """Set a task aside.

    1. Put it among the dead. *Crash after it*: it is taken again, and found among the dead when it is buried again.
    2. Remove its delayed twin, so that it is not promoted anew, and its ready key.

    One that is held no more is left alone.
    """
    found = await state.holding(lease, fresh=True)
    if found is None:
        return
    task = lease.task
    names = await list_keys(state.documents, keys.dead_prefix(task.queue))
    buried = next((key for key in names if keys.same_task(key, task)), None)
    if buried is None:
        await state.documents.create(keys.dead(task, at), dead_body(task, cause, found.deaths, at))
    await ack(state, [lease])


async def revive(state: QueueState, dead: DeadTask) -> bool:
    """Make a dead task ready again.

    1. Put it under its ready key with no deaths; if it is there already, set its deaths to 0. Its delay has passed: it
       is put without one, since a ready task with a delay and without a delayed twin counts as done.
    2. Remove it from the dead. *Crash before it*: reviving it again does no harm.
    """
    doc = await state.documents.read(keys.dead(dead.task, dead.died_at))
    if doc is None:
        return False
    task = replace(dead_of(doc).task, not_before=None)
    outcome = await state.documents.create(keys.ready(task), fresh_body(task))
    there: Doc | None = None if isinstance(outcome, Created) else outcome.doc
    while there is not None:
        swapped = await state.documents.swap(there, {**there.body, "deaths": 0})
        there = None if isinstance(swapped, Swapped) else swapped.doc
    state.became_ready(task.queue, keys.ready(task))
    await state.documents.remove(doc)
    return True


async def discard(state: QueueState, dead: DeadTask) -> bool:
    """Remove a dead task for good."""
    doc = await state.documents.read(keys.dead(dead.task, dead.died_at))
    return doc is not None and await state.documents.remove(doc)


async def _remove(state: QueueState, lease: TaskLease) -> None:
    key = keys.ready(lease.task)
    if lease.task.not_before is not None:
        # only while the task is held: under a lost lease the twin belongs to who has the task now
        if await state.holding(lease) is None:
            return
        await _remove_twin(state, lease.task)
    version = state.version(lease)
    removed = bool(version) and await state.documents.remove(Doc(key, {}, version))
    while not removed and (found := await state.holding(lease, fresh=True)) is not None:
        # a renewal by another thread or process of this holder came in between
        removed = await state.documents.remove(found.doc)
    state.let_go(key)


async def _remove_twin(state: QueueState, task: Task) -> bool:
    key = keys.delayed(task)
    doc = await state.documents.read(key)
    state.promoted.pop(key, None)
    return doc is not None and await state.documents.remove(doc)


def _gone(lease: TaskLease) -> LeaseGone:
    return LeaseGone(
        f"Task {lease.task.task_id} of queue {lease.task.queue!r} is no longer held by {lease.holder}",
        "Stop the work on it; do not ack",
    )
