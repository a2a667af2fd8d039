"""Requests of an owner that are safe to repeat: a storage error is waited out while the lease lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from flowli.domain.errors import BackendUnavailable, OutcomeUnknown
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard, TaskGuard

__all__ = ["patiently"]

T = TypeVar("T")

_log = structlog.get_logger("flowli.owner")
_FIRST_DELAY_S, _LAST_DELAY_S = 0.05, 5.0


async def patiently(services: Services, guard: LeaseGuard | TaskGuard, request: Callable[[], Awaitable[T]]) -> T:
    """Make a request until it is answered.

    Raises:
        BackendError: it was refused, or the lease may be over.
    """
    delay_s = _FIRST_DELAY_S
    while True:
        try:
            return await request()
        except (BackendUnavailable, OutcomeUnknown) as error:
            if guard.expired:
                raise
            eid = str(guard.lease.eid if isinstance(guard, LeaseGuard) else guard.lease.task.target)
            _log.warning("the storage is waited for", eid=eid, error=str(error), retry_in_s=delay_s)
            await services.world.sleep(delay_s)
            delay_s = min(2 * delay_s, _LAST_DELAY_S)
