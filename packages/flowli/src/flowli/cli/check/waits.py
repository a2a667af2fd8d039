"""What moves an execution on: tasks, markers, timers. Nothing that could go on stands still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowli.adapters.cairndb.task_doc import dead_of, view_of
from flowli.cairn.errors import CairnError
from flowli.cairn.lease_doc import view
from flowli.cairn.objects import Documents
from flowli.cli.check.contents import Contents
from flowli.cli.check.executions import Looked
from flowli.cli.check.finding import Finding, found
from flowli.domain import keys
from flowli.domain.errors import BackendError, InvalidName, InvalidValue
from flowli.domain.ids import Eid, parse_eid
from flowli.domain.ports import Lease, Ports
from flowli.domain.tasks import TaskKind, TaskView
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnTimer
from flowli.runtime.protocols.recover import vacant
from flowli.timestamp import Timestamp

__all__ = ["Tasks", "look_at_claims", "look_at_markers", "look_at_tasks", "look_at_waits", "read_tasks"]

_ALL = 1_000_000


@dataclass(slots=True)
class Tasks:
    """The tasks of a bucket, by execution; ``dead`` are those that were set aside."""

    live: dict[Eid, list[TaskView]] = field(default_factory=dict)
    dead: set[Eid] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def wakes(self, eid: Eid) -> bool:
        """Whether some task leads a worker to the execution."""
        kinds = (TaskKind.START, TaskKind.RESUME)
        return any(view.task.kind in kinds for view in self.live.get(eid, ()))


async def read_tasks(documents: Documents, contents: Contents) -> Tasks:
    """Read every task, one by one: one that cannot be read hides no other."""
    tasks = Tasks()
    for key in contents.under(keys.QUEUES):
        queue, kind = keys.queue_of(key)
        if kind not in (keys.READY, keys.DELAYED, keys.DEAD):
            continue
        try:
            doc = await documents.read(key)
            if doc is not None and kind == keys.DEAD:
                tasks.dead.add(dead_of(doc).task.target)
            elif doc is not None:
                task = view_of(view(doc, 0.0), delayed=kind == keys.DELAYED)
                tasks.live.setdefault(task.task.target, []).append(task)
        except (CairnError, InvalidValue, KeyError, TypeError) as error:
            told = f"a task of queue '{queue}' cannot be read: {error}"
            tasks.findings.append(found("readable", key, told, [key], "Remove it if its execution is known to go on."))
    return tasks


async def look_at_waits(
    ports: Ports, looked: Looked, tasks: Tasks, others: Mapping[Eid, Looked], now: Timestamp
) -> None:
    """Whether somebody or something will move it on."""
    eid, fold = looked.eid, looked.fold
    if looked.ended or not looked.whole or tasks.wakes(eid) or eid in tasks.dead or not vacant(_held(looked)):
        return
    if not looked.entries:
        looked.add("start", "it was asked for, has not begun, and no START is in a queue", (keys.meta(eid),))
    elif fold.suspended is None:
        told = f"entry {fold.seq} is its last, nobody owns it any more, and no task leads to it"
        looked.add("owned", told, (keys.lease(eid), f"entry {fold.seq}"))
    elif not any(isinstance(on, OnOperator) for on in fold.waits):
        await _over_or_watched(ports, looked, others, now)


def _held(looked: Looked) -> Lease | None:
    """Its lease, unless the journal has released it."""
    lease = looked.lease
    return lease if lease is not None and lease.epoch != looked.fold.released_epoch else None


async def _over_or_watched(ports: Ports, looked: Looked, others: Mapping[Eid, Looked], now: Timestamp) -> None:
    eid, fold, seq = looked.eid, looked.fold, f"entry {looked.fold.seq}"
    for on in fold.waits:
        match on:
            case OnChannel(channel):
                end, last = await ports.channel.end(channel), fold.last_consumed.get(channel, (0, 0))[0]
                log = f"logs/{keys.channel_log(channel)}/"
                if end.seq > last:
                    told = f"message {last + 1} of channel '{channel}' is there, and no task wakes it"
                    looked.add("woken", told, (log, seq))
                elif await ports.channel.marker(channel, eid) is None:
                    told = f"it waits on channel '{channel}' and has no marker there: a message would not wake it"
                    looked.add("marker", told, (keys.marker(channel, eid), seq))
            case OnChild(child):
                kid = others.get(child)
                if kid is not None and kid.ended:
                    looked.add("woken", f"its child {child} has ended, and no task wakes it", (str(child), seq))
    for timer in fold.timers():
        if timer.timer_id not in {pending.timer_id for pending in await ports.timers.pending(limit=_ALL)}:
            over = "is past" if timer.due_at <= now else "is to come"
            looked.add("timer", f"{timer.due_at} {over}, and its timer is not there", (keys.timer(timer), seq))
    if not fold.waits:
        looked.add("woken", "it is suspended on nothing, and no task wakes it", (seq,))
    elif any(isinstance(on, OnTimer) for on in fold.waits) and not fold.timers():
        looked.add("woken", "it waits for an instant of which its journal tells nothing", (seq,))


async def look_at_markers(documents: Documents, contents: Contents, executions: Mapping[Eid, Looked]) -> list[Finding]:
    """Markers of executions that have ended."""
    findings = []
    for key in contents.under("wf/waits/"):
        try:
            eid = parse_eid(key.rpartition("/")[2])
        except InvalidName:
            continue
        looked = executions.get(eid)
        if looked is not None and looked.ended and await documents.read(key) is not None:
            findings.append(found("marker-left", key, f"execution {eid} has ended and still has a marker", [key]))
    return findings


def look_at_tasks(tasks: Tasks, executions: Mapping[Eid, Looked]) -> list[Finding]:
    """Tasks of executions that ended, and that nobody holds."""
    return [
        found("task-left", eid, f"it has ended, and task {view.task.task_id} is in queue '{view.task.queue}'")
        for eid, views in sorted(tasks.live.items())
        if (looked := executions.get(eid)) is not None and looked.ended
        for view in views
        if view.holder is None and view.task.kind in (TaskKind.START, TaskKind.RESUME, TaskKind.RUN_STEP)
    ]


async def look_at_claims(
    ports: Ports, contents: Contents, executions: Mapping[Eid, Looked], tasks: Tasks
) -> list[Finding]:
    """Dispatch keys whose execution was never begun: the same start, asked for again, finishes it."""
    findings = []
    for key in contents.under("wf/dispatch/"):
        try:
            claim = await ports.dispatch.read_start(key.removeprefix("wf/dispatch/"))
        except (BackendError, InvalidName, InvalidValue) as error:
            findings.append(found("readable", key, f"it cannot be read: {error}", [key]))
            continue
        if claim is None or claim.folded_at is not None or claim.eid in executions or tasks.wakes(claim.eid):
            continue
        told = f"it leads to execution {claim.eid}, of which there is nothing else"
        advice = "The same start, asked for again, finishes it."
        findings.append(found("claimed", key, told, [key], advice))
    return findings
