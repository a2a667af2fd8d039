"""Running an execution for a START or RESUME task.

1. Look. An end that is there already only needs what follows it (``after_end``) and the ack. A paused or parked
   execution goes on only for a request of an operator. A cause that is journaled is acked unread.
   For a START: the record, then the archive (``start``); the journal is not read, since of an execution that nobody
   has owned there is none. For a RESUME: the journal, unless the coroutine is warm.
2. Acquire the lease. It is free if the journal's last lifecycle entry released its epoch, if it has expired, if its
   holder is dead, or if this worker itself has stopped to act under it. For a START it is created: that it can be
   proves that nobody ever owned the execution. If it cannot, step 1 is done again with the journal. Is it held
   elsewhere, the owner is told through the lease, and the task is given back for a while, longer each time.
   *Crash after it*: the lease expires, or its holder is seen to be dead; the task is taken again.
3. A clean hand-over (nothing journaled yet under epoch 1, or the last entry is ``suspended`` of the epoch before)
   needs no entry: the first commit rides with the first outcomes. Any other takeover first commits
   ``execution.resumed`` at the tail and only then runs code: from here on a late commit of the former owner can no
   longer land. Before that it looks for an archive: what was read may be the rest of a journal that retention was
   deleting. (A rest is never taken over cleanly: the lease has gone on since its last entry, or begins anew.)
4. Replay, or go on with the warm coroutine if its epoch was the one before; run until suspended or ended (``suspend``,
   ``finish``). A commit of a lower epoch that landed where the first one should go: drop the coroutine, read the
   journal and do step 3 again. One of a higher epoch: stop, write nothing more, do not ack.
5. Post the twins; ack the tasks when they are durable. *Crash before it*: the task is taken again and finds the
   release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from flowli.domain.entries import START, ExecutionResumed, ExecutionStarted, JournalEntry, Position
from flowli.domain.errors import LeaseLost
from flowli.domain.execution import Execution
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Appended, Lease, Ports
from flowli.domain.tasks import Task
from flowli.domain.waits import OnOperator
from flowli.runtime.protocols.causes import is_journaled
from flowli.runtime.services import Services

__all__ = ["Behind", "Looked", "Verdict", "look", "take_over"]

_OPERATOR_VERBS = frozenset({"cancel", "unpause", "terminate", "migrate"})


class Behind(LeaseLost):
    """The journal has gone on since it was read: look again."""


class Verdict(Enum):
    """What a look at an execution says about a task for it."""

    RUN = "run"
    ENDED = "ended"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Looked:
    """An execution as it was found.

    Attributes:
        lease: as it was read, if it was.
    """

    verdict: Verdict
    execution: Execution | None = None
    entries: tuple[JournalEntry, ...] = ()
    position: Position = START
    fold: JournalFold | None = None
    lease: Lease | None = None


async def look(
    ports: Ports,
    task: Task,
    code_ref_of: dict[tuple[str, str], str],
    *,
    record: Execution | None = None,
    lease: Lease | None = None,
) -> Looked:
    """Step 1, from the journal.

    Args:
        code_ref_of: the code of this worker by workflow and version: an execution parked by other code is tried again.
        record: if it was read.
        lease: if it is held already.
    """
    found = await ports.journal.read(task.target)
    fold = JournalFold(found.entries)
    execution = fold.execution or record or await _record(ports, task)
    if execution is None:
        return Looked(Verdict.NOTHING)
    execution = replace(execution, version=fold.version or execution.version)
    looked = Looked(Verdict.RUN, execution, found.entries, found.position, fold, lease)
    if fold.end is not None:
        return replace(looked, verdict=Verdict.ENDED)
    if fold.parked is not None and _revived(task, fold.parked):
        return looked
    if fold.parked is not None and not _other_code(fold, execution, code_ref_of):
        lease = lease or await ports.ownership.read(task.target)
        requests = lease.requests if lease is not None else ()
        wanted = any(r.verb in _OPERATOR_VERBS and r.id not in fold.applied for r in requests)
        return replace(looked, verdict=Verdict.RUN if wanted else Verdict.NOTHING, lease=lease)
    if fold.suspended is not None and fold.suspended.on and is_journaled(task, fold):
        # of an execution that nobody has released, the task is what carries it on, whatever its cause
        return replace(looked, verdict=Verdict.NOTHING)
    return looked


async def _record(ports: Ports, task: Task) -> Execution | None:
    """The record of an execution without a journal; None if it has none, or is a leftover beside its archive."""
    execution = await ports.executions.get(task.target)
    if execution is None or await ports.archive.get(task.target) is not None:
        return None
    return execution


def _revived(task: Task, parked: OnOperator) -> bool:
    """Whether this is the very task that was set aside: an operator has put it back."""
    return parked.cause == "dead_letter" and parked.task == task.task_id


def _other_code(fold: JournalFold, execution: Execution, code_ref_of: dict[tuple[str, str], str]) -> bool:
    parked = fold.parked
    if parked is None or fold.paused is not None or parked.cause != "nondeterminism":
        return False
    return code_ref_of.get((execution.workflow, execution.version), parked.code_ref) != parked.code_ref


def is_clean(fold: JournalFold, epoch: int) -> bool:
    """Whether a takeover under ``epoch`` is a clean hand-over (step 3)."""
    if fold.seq == 0:
        return epoch == 1
    return fold.suspended is not None and fold.epoch == epoch - 1


async def take_over(
    services: Services, looked: Looked, epoch: int, reasons: Sequence[str]
) -> tuple[tuple[JournalEntry, ...], Position]:
    """Step 3: the journal to replay and where it ends.

    Raises:
        LeaseLost: somebody else took the execution over meanwhile, or it was retired.
    """
    execution, fold = looked.execution, looked.fold
    assert execution is not None
    assert fold is not None
    entries, position = looked.entries, looked.position
    if fold.seq and not is_clean(fold, epoch) and await services.ports.archive.get(execution.eid) is not None:
        await services.ports.ownership.remove(execution.eid)
        raise LeaseLost(f"execution {execution.eid} was retired while its journal was read")
    while not is_clean(fold, epoch):
        if fold.epoch > epoch:
            # the journal was read after the lease was taken, and somebody has taken it over in between
            raise LeaseLost(f"execution {execution.eid} was taken over by epoch {fold.epoch}")
        by = services.provenance(epoch=epoch)
        by = replace(by, at=max(by.at, fold.at or execution.created_at))
        fresh = [JournalEntry(ExecutionResumed(epoch, tuple(reasons)), by)]
        if fold.seq == 0:
            fresh.insert(0, JournalEntry(ExecutionStarted(execution), replace(by, at=execution.created_at)))
        result = await services.ports.journal.append(
            execution.eid, fresh, after=position, epoch=epoch, writer=services.site.worker_id
        )
        if isinstance(result, Appended):
            first = fold.seq + 1
            numbered = tuple(replace(entry, seq=first + n) for n, entry in enumerate(fresh))
            return (*entries, *numbered), result.position
        if result.epoch >= epoch:
            raise LeaseLost(f"execution {execution.eid} was taken over by epoch {result.epoch}")
        entries, position = (*entries, *result.entries), result.position
        fold = JournalFold(entries)
        if fold.end is not None:
            raise Behind(f"execution {execution.eid} ended meanwhile")
    return entries, position
