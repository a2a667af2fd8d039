"""``Intake``: takes tasks from the queues, a few more than there is room for when they are short.

How many tasks are taken ahead follows from how many were finished lately, so that one that waits behind long steps is
not kept from other workers. What has waited for too long is given back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import structlog

from flowli.domain.errors import BackendError
from flowli.runtime.services import Services
from flowli.runtime.worker.fates import GiveBack
from flowli.runtime.worker.renewal import Renewals, TaskGuard

__all__ = ["Intake"]

_log = structlog.get_logger("flowli.worker")
_PAGE = 64
_LATELY_S = 0.25
_WAIT_S = 1.0


class Intake:
    """See the module's docstring.

    Args:
        queues: the first ones first.
        concurrency: the most tasks that are taken ahead.
        give_back: takes what has waited for too long.
    """

    def __init__(
        self,
        services: Services,
        renewals: Renewals,
        queues: Sequence[str],
        concurrency: int,
        give_back: Callable[[TaskGuard, GiveBack], None],
    ) -> None:
        self._services = services
        self._renewals = renewals
        self._queues = tuple(queues)
        self._concurrency = concurrency
        self._give_back = give_back
        self._holder = f"{services.site.worker_id}/{services.world.token()[:8]}"
        self._ahead: deque[tuple[TaskGuard, float]] = deque()
        self._finished: deque[float] = deque()

    @property
    def ahead(self) -> int:
        """How many tasks wait here."""
        return len(self._ahead)

    def finished(self) -> None:
        """A task was worked off."""
        self._finished.append(self._services.world.monotonic_s())

    def next(self) -> TaskGuard | None:
        """A task that was taken ahead."""
        return self._ahead.popleft()[0] if self._ahead else None

    async def take(self, room: int, *, one_by_one: bool = False) -> list[TaskGuard]:
        """Take up to ``room`` tasks to be begun at once, and some ahead.

        Args:
            one_by_one: take one at most.
        """
        taken: list[TaskGuard] = []
        wanted = min(room, 1) if one_by_one else room + self._quota() - len(self._ahead)
        for queue in self._queues:
            if len(taken) < wanted:
                taken += await self._dequeue(queue, min(wanted - len(taken), _PAGE))
        now_s = self._services.world.monotonic_s()
        self._ahead.extend((guard, now_s) for guard in taken[room:])
        return taken[:room]

    def worth_taking(self, room: int) -> bool:
        """Whether there is room, or what was taken ahead runs out."""
        return room > 0 or self.ahead < self._quota() / 2

    def _quota(self) -> int:
        since_s = self._services.world.monotonic_s() - _LATELY_S
        while self._finished and self._finished[0] < since_s:
            self._finished.popleft()
        return min(len(self._finished), self._concurrency) if self._concurrency > 1 else 0

    async def _dequeue(self, queue: str, limit: int) -> list[TaskGuard]:
        services = self._services
        ttl_s = services.config.task_ttl_s
        deadline_s = services.world.boottime_s() + ttl_s
        try:
            leases = await services.ports.queue.dequeue(queue, self._holder, ttl_s, limit=limit)
        except BackendError as error:
            _log.warning("the queue could not be read", queue=queue, error=str(error))
            return []
        guards = [TaskGuard(services.world, ttl_s, deadline_s, lease=lease) for lease in leases]
        for guard in guards:
            self._renewals.watch(guard)
        return guards

    def let_go(self, *, everything: bool = False) -> float | None:
        """Give back what has waited for too long, or ``everything``.

        Returns:
            In how many seconds the next one will have waited for too long; None if none waits.
        """
        until_s = self._services.world.monotonic_s() - _WAIT_S
        while self._ahead and (everything or self._ahead[0][1] <= until_s):
            self._give_back(self._ahead.popleft()[0], GiveBack("no room for it here", 0.0))
        return self._ahead[0][1] - until_s if self._ahead else None
