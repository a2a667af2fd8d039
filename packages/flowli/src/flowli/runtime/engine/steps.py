"""Looking at steps: how far they are, and what their attempts printed and logged."""

from __future__ import annotations

from flowli.domain.ids import Eid, Fid
from flowli.domain.ports import Lease
from flowli.domain.waits import OnStep
from flowli.evidence import KeptLog, read_logs
from flowli.runtime.engine.base import EngineBase, as_eid
from flowli.runtime.progress import Progress, of_state, progress_eid
from flowli.runtime.protocols.detached import detached_queue
from flowli.runtime.protocols.standing import Standing, read_standing

__all__ = ["StepVerbs"]


class StepVerbs(EngineBase):
    """``progress`` and ``logs``."""

    async def progress(self, eid: Eid | str) -> dict[Fid, Progress]:
        """What the steps that have no outcome yet said last by ``flowli.heartbeat``, by frame.

        It is as old as the last renewal of the lease of whoever runs the step, a third of its ttl at most.

        Raises:
            UnknownExecution: no such execution.
        """
        eid = as_eid(eid)
        standing = await read_standing(self.ports, eid)
        return await self._progress(standing, None if standing.ended else await self.ports.ownership.read(eid))

    async def _progress(self, standing: Standing, lease: Lease | None) -> dict[Fid, Progress]:
        live = {frame.fid: frame for frame in standing.fold.live_frames()}
        if standing.ended or not live:
            return {}
        eid = standing.execution.eid
        said = of_state(lease.state) if lease is not None else {}
        for frame in live.values():
            if detached_queue(frame) is not None and isinstance(frame.waits_on, OnStep):
                shown = await self.ports.ownership.read(progress_eid(eid, frame.fid))
                said.update(of_state(shown.state) if shown is not None else {})
        return {fid: progress for fid, progress in said.items() if fid in live}

    async def logs(self, eid: Eid | str, frame: Fid | None = None) -> list[KeptLog]:
        """What the attempts of the steps of an execution printed and logged, in the order of frames and attempts.

        Which attempts keep their log says ``EngineConfig.attempt_logs`` of the worker; they are removed with the
        execution's journal.

        Args:
            frame: only of this one, for example ``root/charge#1``.

        Raises:
            UnknownExecution: no such execution.
            InvalidName: ``frame`` is no frame id.
        """
        eid = as_eid(eid)
        logs = await read_logs(self.ports.evidence, eid, frame)
        if not logs:
            await read_standing(self.ports, eid)
        return logs
