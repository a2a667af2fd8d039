"""``ProgressSign``: shows the progress of one detached step while its task is held."""

from __future__ import annotations

import structlog

from flowli.domain.data import Data
from flowli.domain.errors import BackendError, LeaseLost
from flowli.domain.ports import Acquired, Holder, Lease, Ports
from flowli.runtime.progress import Progress, in_state, of_state, progress_eid
from flowli.runtime.protocols.detached import StepRun
from flowli.runtime.services import Services

__all__ = ["ProgressSign"]

_log = structlog.get_logger("flowli.steps")


class ProgressSign:
    """One lease, written when the task is renewed and there is something new. It decides nothing: it is only shown.

    *A crash leaves it*: the next run of the step takes it over, and retention removes it.
    """

    def __init__(self, services: Services, run: StepRun) -> None:
        self._services = services
        self._eid = progress_eid(run.eid, run.fid)
        self._fid = run.fid
        self._holder = Holder(f"{services.site.worker_id}/{services.world.token()[:8]}", services.site)
        self._last: Progress | None = None
        self._shown: Progress | None = None
        self._held: Lease | None = None
        self._stands = False

    async def before(self) -> Data:
        """What an earlier run said last; None if nothing is known."""
        try:
            lease = await self._services.ports.ownership.read(self._eid)
        except BackendError:
            return None
        self._stands = lease is not None
        said = of_state(lease.state).get(self._fid) if lease is not None else None
        return None if said is None else said.value

    def said(self, progress: Progress) -> None:
        """The step has reported progress, perhaps from a thread."""
        self._last = progress

    async def show(self, ports: Ports) -> None:
        """Write what is new. That it cannot be written is no reason to stop."""
        last = self._last
        if last is None or last is self._shown:
            return
        state: Data = in_state({}, {last.fid: last})
        try:
            if self._held is not None:
                self._held = await ports.ownership.renew(self._held, state=state)
            else:
                ttl_s = self._services.config.task_ttl_s
                got = await ports.ownership.acquire(self._eid, self._holder, ttl_s, force=True, state=state)
                self._held = got.lease if isinstance(got, Acquired) else None
        except LeaseLost:
            self._held = None
            return
        except BackendError as error:
            _log.warning("progress could not be shown", fid=self._fid, error=str(error))
            return
        self._shown, self._stands = last, True

    async def remove(self) -> None:
        """The run is over."""
        if not self._stands:
            return
        try:
            await self._services.ports.ownership.remove(self._eid)
        except BackendError as error:
            _log.warning("progress could not be removed", fid=self._fid, error=str(error))
