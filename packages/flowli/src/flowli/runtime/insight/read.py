"""Reading an ``Inspection``. It never writes.

1. The record and the journal, or the archive.
2. All else: the lease, tasks, timers, channels, children, the queue, signs of life.
3. The journal again. If it has grown, all is read anew, so that the parts fit each other; an execution that never
   stands still is shown as it is after the last try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from flowli.domain.channels import Message
from flowli.domain.entries import START, Position
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Eid, Fid, frame_hash
from flowli.domain.memo import Frame, JournalFold
from flowli.domain.ports import Lease, Ports
from flowli.domain.tasks import TaskKind, TaskView
from flowli.runtime.insight.inspection import TIMERS_LOOKED_AT, ChannelView, ChildView, Inspection, QueueView, StepView
from flowli.runtime.insight.known import KnownCode
from flowli.runtime.progress import Progress, of_state, progress_eid
from flowli.runtime.protocols.detached import detached_queue, run_of
from flowli.runtime.protocols.standing import Standing, find_standing, read_standing
from flowli.runtime.services import Services
from flowli.runtime.signs import SWEEPER, queue_sign, seen

__all__ = ["inspect"]

_TRIES = 3
_TASKS, _DEAD = 1000, 100
_LISTED = 100


async def inspect(services: Services, eid: Eid, known: KnownCode) -> Inspection:
    """Look at one execution.

    Args:
        known: what workers have announced; brought up to date if it is needed.

    Raises:
        UnknownExecution: no such execution.
    """
    for _ in range(_TRIES - 1):
        found, steady = await _look(services, eid, known)
        if steady:
            return found
    found, steady = await _look(services, eid, known)
    return replace(found, steady=steady)


async def _look(services: Services, eid: Eid, known: KnownCode) -> tuple[Inspection, bool]:
    """One look, and whether the journal was the same before and after."""
    standing = await read_standing(services.ports, eid)
    found = await _around(services, standing, known)
    if standing.ended:
        return found, True
    return found, not (await services.ports.journal.read(eid, after=standing.position)).entries


async def _around(services: Services, standing: Standing, known: KnownCode) -> Inspection:
    ports, execution, fold, at = services.ports, standing.execution, standing.fold, services.world.now()
    if standing.archived_at is not None:
        return Inspection(
            at, execution, standing.entries, fold, position=standing.position, archived_at=standing.archived_at
        )
    live = [] if standing.ended else fold.live_frames()
    names = {str(frame.metadata["channel"]) for frame in live if "channel" in frame.metadata} | fold.received_on()
    lease, tasks, sweeper = await asyncio.gather(
        ports.ownership.read(execution.eid),
        ports.queue.find(execution.queue, execution.eid, limit=_TASKS),
        seen(ports, SWEEPER),
    )
    # what is read below costs a request for each thing that stands there, of whichever execution
    aside = fold.parked is not None and fold.parked.cause == "dead_letter"
    dead = await ports.queue.dead(execution.queue, limit=_DEAD) if aside else ()
    timed = not standing.ended and (execution.timeout_s is not None or fold.suspended_until is not None)
    pending = await ports.timers.pending(limit=TIMERS_LOOKED_AT) if timed else None
    queue = await _queue(services, execution, fold.version, tasks, known)
    children = await asyncio.gather(*(_child(ports, frame) for frame in live if frame.kind is FrameKind.CHILD))
    steps = await asyncio.gather(*(_step(services, execution.eid, frame) for frame in live))
    channels = await asyncio.gather(*(_channel(ports, execution.eid, fold, name) for name in sorted(names)))
    return Inspection(
        at=at,
        execution=execution,
        entries=standing.entries,
        fold=fold,
        position=standing.position,
        lease=lease,
        tasks=tuple(tasks),
        dead=tuple(one for one in dead if one.task.target == execution.eid),
        timers=tuple(timer for timer in pending or () if timer.eid == execution.eid),
        channels=tuple(channels),
        children=tuple(child for child in children if child is not None),
        queue=queue,
        steps=tuple(step for step in steps if step is not None),
        progress=await _progress(ports, execution.eid, lease, live),
        due_timers=None if pending is None else sum(timer.due_at <= at for timer in pending),
        sweeper=sweeper,
    )


async def _channel(ports: Ports, eid: Eid, fold: JournalFold, name: str) -> ChannelView:
    consumed = fold.consumed.get(name, set())
    last_seq, last_commit = fold.last_consumed.get(name, (0, 0))
    # a receive with a correlation may have passed over earlier messages
    whole = len(consumed) != last_seq or last_commit < 1
    after = START if whole else Position(last_commit - 1, 0)
    found, marker = await asyncio.gather(ports.channel.read(name, after=after), ports.channel.marker(name, eid))
    unread: dict[str, Message] = {}
    for message in found.messages:
        unread.setdefault(message.id, message)
    fresh = tuple(message for message in unread.values() if message.seq not in consumed)
    return ChannelView(name, fresh, None if marker is None else marker.epoch)


async def _child(ports: Ports, frame: Frame) -> ChildView | None:
    eid = frame.metadata.get("eid")
    if not isinstance(eid, str):
        return None
    standing = await find_standing(ports, Eid(eid))
    return ChildView(frame.fid, Eid(eid), frame.name, None if standing is None else standing.fold.status)


async def _step(services: Services, eid: Eid, frame: Frame) -> StepView | None:
    queue, ports = detached_queue(frame), services.ports
    if queue is None or frame.attempts[-1].ended_at is not None:
        return None
    settings, tasks, worker, ended = await asyncio.gather(
        ports.queue.settings(queue),
        ports.queue.find(queue, eid, limit=_TASKS),
        seen(ports, queue_sign(queue)),
        ports.evidence.get(eid, run_of(eid, frame).outcome),
    )
    keys = f"{frame_hash(frame.fid)}:"
    held = [one for one in tasks if one.task.kind is TaskKind.RUN_STEP and keys in one.task.key]
    holder = next((one.holder for one in held if one.holder is not None), None)
    return StepView(frame.fid, frame.attempt, queue, holder, settings.paused, worker, ended is not None)


async def _progress(ports: Ports, eid: Eid, lease: Lease | None, live: Iterable[Frame]) -> dict[Fid, Progress]:
    said = of_state(lease.state) if lease is not None else {}
    fids = {frame.fid for frame in live}
    for frame in live:
        if detached_queue(frame) is not None:
            shown = await ports.ownership.read(progress_eid(eid, frame.fid))
            said.update(of_state(shown.state) if shown is not None else {})
    return {fid: one for fid, one in said.items() if fid in fids}


async def _queue(
    services: Services, execution: Execution, version: str, tasks: Iterable[TaskView], known: KnownCode
) -> QueueView:
    ports, name = services.ports, execution.queue
    settings, worker = await asyncio.gather(ports.queue.settings(name), seen(ports, queue_sign(name)))
    waiting = next((view for view in tasks if view.holder is None and not view.delayed), None)
    if waiting is None:
        return QueueView(name, settings, worker)
    listed = list(await ports.queue.list(name, limit=_LISTED))
    ready = [view for view in listed if not view.delayed]
    place = next((n for n, view in enumerate(ready) if view.task.task_id == waiting.task.task_id), len(ready))
    ahead = sum(view.holder is None for view in ready[:place])
    held = sum(view.holder is not None for view in ready)
    knows = None
    if settings.paused is None and worker is not None and worker.fresh(services.world.now()):
        # only now is it of interest: it may have to read the whole control log
        knows = await known.knows(ports.control, execution.workflow, version or execution.version)
    return QueueView(name, settings, worker, ahead, held, knows)
