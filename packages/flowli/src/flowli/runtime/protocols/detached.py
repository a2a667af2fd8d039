"""Detached steps: the function runs in a worker of another queue, which need not know the workflow.

Putting, by the owner of the execution:

1. Commit ``frame.started`` of the attempt. What follows is named by it: it may be done twice, by any owner.
2. If an earlier owner may have done it: look for the outcome.
3. Put the RUN_STEP task; it carries the arguments. *Crash before it*: the next owner does 2 and 3.
4. Wait, as for a child: the execution suspends on the step.

Running, by who takes the task (``worker.detached``):

5. Look for the outcome: if it is there, only 8 and 9 are left. *Crash after it*: the task is taken again.
6. Look at the journal: of an execution that has ended, or that waits for this attempt no more, the task is acked.
7. Run the attempt, while the lease of the task is renewed and the journal is looked at; write the outcome, create-only,
   as evidence. *Crash before the write*: the next taker runs the attempt again, under the same number and idempotency
   key. Of two that run it (one was taken for dead) the first outcome counts, and the other one tells of that.
8. Enqueue a RESUME that carries the outcome if it is small. *Crash before it*: the task is taken again, and step 5
   finds the outcome. Should it be lost all the same, the audit of the sweeper finds the outcome too.
9. Ack the task. *Crash before it*: the same.

The owner journals the outcome when it is told of it, and judges by the policy whether another attempt follows; that is
a task of its own. A task that has brought down one worker after another is the attempt's failure (``give_up_step``).
An owner that waits for the step no more withdraws the task; if it is held, its holder finds that in the journal.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import ErrorInfo, InvalidValue
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import Frame, JournalFold
from flowli.domain.ports import Ports
from flowli.domain.provenance import Provenance
from flowli.domain.tasks import Task, TaskKind
from flowli.evidence import evidence_name
from flowli.runtime.hub import Hub
from flowli.runtime.protocols.step_end import StepEnd
from flowli.runtime.protocols.wake import StepCause, resume_task
from flowli.runtime.services import Services
from flowli.timestamp import Timestamp

__all__ = [
    "DEAD_STEP",
    "StepOrder",
    "StepRun",
    "cause_of",
    "detached_queue",
    "give_up_step",
    "put_step",
    "read_step_end",
    "record_step_end",
    "run_of",
    "step_task",
    "tell_owner",
    "withdraw_steps",
]

_INLINE_BYTES = 16_384

DEAD_STEP = "flowli.DeadLetter"
"""The type of the error of a detached step that was set aside."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One run of an attempt, as its ``frame.started`` names it.

    Attributes:
        run: counts the runs of an attempt that was deferred, from 1.
        epoch: of the owner that started it.
        at: when.
    """

    eid: Eid
    fid: Fid
    attempt: int
    run: int
    epoch: int
    at: Timestamp

    @property
    def cause(self) -> StepCause:
        """Why the execution goes on when it has ended."""
        return StepCause(self.fid, self.attempt, self.run)

    @property
    def outcome(self) -> str:
        """The name of its outcome in the evidence."""
        what = "outcome" if self.run == 1 else f"outcome-{self.run}"
        return evidence_name(self.fid, self.attempt, self.epoch, what)


@dataclass(frozen=True, slots=True)
class StepOrder:
    """The payload of a RUN_STEP task: all that its taker needs.

    Attributes:
        step: the name under which the function is registered.
        arguments: in their recorded form.
        queue: of the execution, where the RESUME goes, with its ``priority``.
    """

    run: StepRun
    step: str
    workflow: str
    arguments: dict[str, Data]
    queue: str
    priority: int
    timeout_s: float | None = None
    heartbeat_s: float | None = None

    @classmethod
    def of(cls, task: Task) -> StepOrder:
        """The order that a task carries.

        Raises:
            InvalidValue: it carries none.
        """
        return codec.load(cls, task.payload)


def detached_queue(frame: Frame) -> str | None:
    """The queue on which a frame is run; None if it is no detached step."""
    queue = frame.metadata.get("queue") if frame.kind is FrameKind.STEP else None
    return queue if isinstance(queue, str) else None


def cause_of(frame: Frame, *, before: int | None = None) -> StepCause:
    """Why the execution goes on when the run has ended that is under way, or was the last.

    Args:
        before: a journal sequence number: of the run that was the last before it.
    """
    attempts = [one for one in frame.attempts if before is None or one.seq < before]
    number = attempts[-1].number
    return StepCause(frame.fid, number, sum(one.number == number for one in attempts))


def run_of(eid: Eid, frame: Frame) -> StepRun:
    """The run that is under way, or was the last."""
    cause, last = cause_of(frame), frame.attempts[-1]
    return StepRun(eid, frame.fid, cause.attempt, cause.run, last.epoch, last.started_at)


def step_task(run: StepRun, queue: str, priority: int, by: Provenance, payload: Data = None) -> Task:
    """The RUN_STEP task of a run: one, whoever puts it."""
    return Task(
        queue=queue,
        kind=TaskKind.RUN_STEP,
        target=run.eid,
        cause_at=run.at,
        enqueued_by=by,
        key=run.cause.detail,
        reason="step",
        priority=priority,
        payload=payload,
    )


async def put_step(ports: Ports, hub: Hub, order: StepOrder, queue: str, by: Provenance) -> Task | None:
    """Step 3; None if the task is there already."""
    task = step_task(order.run, queue, order.priority, by, codec.dump(order))
    put = await ports.queue.enqueue(task)
    hub.wake_queue(queue)
    return task if put else None


async def read_step_end(ports: Ports, run: StepRun) -> StepEnd | None:
    """The outcome of a run; None as long as there is none."""
    body = await ports.evidence.get(run.eid, run.outcome)
    return None if body is None else StepEnd.from_bytes(body)


async def record_step_end(ports: Ports, run: StepRun, end: StepEnd) -> StepEnd:
    """The last part of step 7; returns the outcome that counts, which may be an earlier one."""
    if await ports.evidence.put(run.eid, run.outcome, end.to_bytes()):
        return end
    return await read_step_end(ports, run) or end


async def tell_owner(ports: Ports, hub: Hub, order: StepOrder, end: StepEnd, by: Provenance) -> None:
    """Step 8. Its instant is that of the outcome, so that it is one task."""
    payload = end.to_data()
    task = resume_task(
        queue=order.queue,
        priority=order.priority,
        eid=order.run.eid,
        cause=order.run.cause,
        at=end.at,
        by=by,
        payload=payload if len(codec.canonical(payload)) <= _INLINE_BYTES else None,
    )
    await ports.queue.enqueue(task)
    hub.wake_queue(order.queue)


async def give_up_step(services: Services, task: Task, cause: str) -> None:
    """A task that nobody is to try again: its attempt has failed, and no other one follows."""
    try:
        order = StepOrder.of(task)
    except InvalidValue:  # there is no execution to be told
        return
    by = services.provenance()
    error = ErrorInfo(DEAD_STEP, f"{cause}; `flowli dead-letters` shows it")
    end = StepEnd(by.at, services.site.worker_id, error=error)
    end = await record_step_end(services.ports, order.run, end)
    await tell_owner(services.ports, services.hub, order, end, by)


async def withdraw_steps(ports: Ports, hub: Hub, execution: Execution, fold: JournalFold, by: Provenance) -> None:
    """Withdraw the tasks of an execution that has ended; who holds one finds the end."""
    finished = (FrameStatus.COMPLETED, FrameStatus.FAILED)
    for frame in fold.frames.values():
        queue = detached_queue(frame)
        if queue is not None and frame.attempts and frame.status not in finished:
            await ports.queue.withdraw(step_task(run_of(execution.eid, frame), queue, execution.priority, by))
            hub.changed(execution.eid)
