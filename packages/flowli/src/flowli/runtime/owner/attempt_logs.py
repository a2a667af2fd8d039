"""``AttemptLogs``: writes what attempts said as evidence, beside everything else: no outcome waits for it.

A worker that dies loses the logs of the attempts under way, and those not written yet.
"""

from __future__ import annotations

import asyncio

import structlog

from flowli.domain.errors import FlowliError
from flowli.domain.ports import Evidence
from flowli.evidence import AttemptLog
from flowli.runtime.config import KeptLogs
from flowli.runtime.step import StepInfo, StepScope

__all__ = ["AttemptLogs"]

_log = structlog.get_logger("flowli.steps")
_MOST, _RUNS = 1_000, 100


class AttemptLogs:
    """See the module's docstring. One PUT for an attempt that said something, if it is of those that are kept.

    Args:
        kept: the attempts whose logs are written.
        max_bytes: the size of one log.
    """

    def __init__(self, evidence: Evidence, kept: KeptLogs, max_bytes: int) -> None:
        self._evidence = evidence
        self._kept = kept
        self._max_bytes = max_bytes
        self._under_way: set[asyncio.Task[None]] = set()

    def begin(self) -> AttemptLog:
        """The log of a new attempt."""
        return AttemptLog(self._max_bytes)

    def end(self, scope: StepScope, *, failed: bool) -> None:
        """The attempt is over; its log is written soon if it is one that is kept.

        More than can be written is dropped rather than heaped up in memory.
        """
        log = scope.log
        if log is None or log.empty or not (failed or self._kept == "all") or len(self._under_way) >= _MOST:
            return
        task = asyncio.create_task(self._write(log, scope.info))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def drain(self) -> None:
        """Return when what has ended is written."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _write(self, log: AttemptLog, info: StepInfo) -> None:
        try:
            for run in range(1, _RUNS + 1):  # an earlier run of the attempt may have been deferred
                fid, attempt, epoch = info.fid, info.attempt, info.epoch
                if await log.write(self._evidence, info.eid, fid, attempt=attempt, epoch=epoch, run=run):
                    return
        except FlowliError as error:
            _log.warning("an attempt log could not be written", eid=str(info.eid), fid=info.fid, error=str(error))
