"""Looking at executions. All of it works on an archived execution as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowli.domain.entries import ExecutionCancelled, ExecutionCompleted, ExecutionFailed, JournalEntry
from flowli.domain.errors import ErrorInfo, InvalidValue
from flowli.domain.execution import Execution, ExecutionStatus
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import ArchivedExecution, Holder, Lease
from flowli.domain.waits import On
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.results import ResultVerbs
from flowli.runtime.engine.steps import StepVerbs
from flowli.runtime.hub import Ended
from flowli.runtime.progress import Progress
from flowli.runtime.protocols.standing import Standing, read_standing
from flowli.timestamp import Timestamp

__all__ = ["ExecutionView", "ReadVerbs"]


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """Where an execution stands, at one glance.

    Attributes:
        version: that runs it now.
        epoch: of its last owner.
        owner: who works on it now; None if nobody does.
        waits_on: what it waits on while it is suspended.
        reason: why it is paused, parked or cancelled.
        error: of a failed one.
        value: of a completed one, in the annotated type if the workflow is registered here.
        archived_at: when retention folded it away.
        erased: its payloads were removed on request.
        progress: what its steps that have no outcome yet said last.
    """

    execution: Execution
    status: ExecutionStatus
    version: str
    epoch: int
    owner: Holder | None
    waits_on: tuple[On, ...]
    created_at: Timestamp
    ended_at: Timestamp | None = None
    reason: str = ""
    error: ErrorInfo | None = None
    value: Any = None
    archived_at: Timestamp | None = None
    erased: bool = False
    progress: Mapping[Fid, Progress] = field(default_factory=dict)


class ReadVerbs(ResultVerbs, StepVerbs):
    """``status``, ``journal``, ``frames``, ``archive``."""

    async def status(self, eid: Eid | str) -> ExecutionView:
        """Where an execution stands.

        Raises:
            UnknownExecution: no such execution.
        """
        eid = as_eid(eid)
        standing = await read_standing(self.ports, eid)
        fold = standing.fold
        lease = None if standing.ended else await self.ports.ownership.read(eid)
        return ExecutionView(
            execution=standing.execution,
            status=fold.status,
            version=fold.version or standing.execution.version,
            epoch=fold.epoch,
            owner=_owner(standing, lease),
            waits_on=fold.waits,
            created_at=standing.execution.created_at,
            ended_at=standing.ended_at,
            reason=_reason(fold),
            error=fold.end.error if isinstance(fold.end, ExecutionFailed) else None,
            value=self._shown_value(standing),
            archived_at=standing.archived_at,
            erased=fold.erased,
            progress=await self._progress(standing, lease),
        )

    async def journal(self, eid: Eid | str) -> tuple[JournalEntry, ...]:
        """All entries of an execution's journal.

        Raises:
            UnknownExecution: no such execution.
        """
        return (await read_standing(self.ports, as_eid(eid))).entries

    async def frames(self, eid: Eid | str) -> JournalFold:
        """The frames of an execution and all else that its journal says, folded.

        Raises:
            UnknownExecution: no such execution.
        """
        return (await read_standing(self.ports, as_eid(eid))).fold

    async def archive(self, eid: Eid | str) -> ArchivedExecution | None:
        """The archive of a finished execution; None if there is none (yet, or any more)."""
        return await self.ports.archive.get(as_eid(eid))

    def _shown_value(self, standing: Standing) -> Any:
        if not isinstance(standing.fold.end, ExecutionCompleted) or standing.fold.erased:
            return None
        try:
            return self._value(Ended(standing.execution, standing.fold))
        except InvalidValue:  # the annotation has changed since; the data is better than nothing
            return standing.fold.end.value


def _owner(standing: Standing, lease: Lease | None) -> Holder | None:
    released = standing.fold.released_epoch
    return None if lease is None or (released is not None and lease.epoch <= released) else lease.holder


def _reason(fold: JournalFold) -> str:
    if isinstance(fold.end, ExecutionCancelled):
        return fold.end.reason
    if fold.parked is not None:
        return fold.parked.reason
    return fold.paused or ""
