"""``ExecutionLeases``: takes the leases of executions for one worker."""

from __future__ import annotations

from collections import OrderedDict

from flowli.domain.data import Data
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.ports import Acquired, Holder, Lease, LeaseRequest
from flowli.domain.tasks import Task
from flowli.runtime.progress import in_state, of_state
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard

__all__ = ["ExecutionLeases"]

_REMEMBERED = 4096
_CARRIER = "task"
_SEARCHED = 1000


class ExecutionLeases:
    """See the module's docstring.

    What this worker has itself stopped to own it may take again at once, as an unclean takeover: nobody works under
    that epoch any more, although the process that holds the lease lives.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._holder = Holder(f"{services.site.worker_id}/{services.world.token()[:8]}", services.site)
        self._left: OrderedDict[Eid, int] = OrderedDict()
        self._delays: OrderedDict[str, float] = OrderedDict()

    async def acquire(
        self, eid: Eid, task: Task, *, free_epoch: int | None = None, seen: Lease | None = None
    ) -> LeaseGuard | Lease:
        """Take the lease, or the lease as somebody else holds it.

        Args:
            task: for which it is taken. It carries the execution on, should this owner vanish: the lease names it.
            free_epoch: the journal says that this epoch has ended; None if the journal was not read.
            seen: the lease as it was last written here, which saves reading it.
        """
        world, ttl_s = self._services.world, self._services.config.exec_ttl_s
        left = self._left.get(eid)
        if left is not None:
            free_epoch = max(left, free_epoch or 0)
        deadline_s = world.boottime_s() + ttl_s
        said = of_state(seen.state) if seen is not None else {}
        state: Data = in_state({_CARRIER: task.task_id}, said)
        got = await self._services.ports.ownership.acquire(
            eid, self._holder, ttl_s, free_epoch=free_epoch, seen=seen, state=state
        )
        if isinstance(got, Acquired):
            self._left.pop(eid, None)
            return LeaseGuard(world, ttl_s, deadline_s, lease=got.lease)
        return got.lease

    def carries(self, task: Task, held: Lease) -> bool:
        """Whether ``task`` may be the one for which the lease was taken."""
        carrier = held.state.get(_CARRIER) if isinstance(held.state, dict) else None
        return carrier in (None, task.task_id)

    async def carried_by_another(self, task: Task, execution: Execution, held: Lease) -> bool:
        """Whether the task for which a lease was taken that may have expired is still in its queue.

        Then ``task`` leaves the execution to it: so the deaths of one that brings its workers down are counted by one
        task, whatever else wakes it.
        """
        if held.idle_s < held.ttl_s / 2 or self.carries(task, held):
            return False  # its owner seems to live, or it is for this very task
        assert isinstance(held.state, dict)
        carrier = held.state[_CARRIER]
        views = await self._services.ports.queue.find(execution.queue, execution.eid, limit=_SEARCHED)
        return any(view.task.task_id == carrier for view in views)

    async def release(self, guard: LeaseGuard) -> None:
        """Let a lease go under which nothing was journaled."""
        await self._services.ports.ownership.release(guard.lease)

    def left(self, guard: LeaseGuard) -> None:
        """This worker has stopped to act under a lease that the journal has not released."""
        _remember(self._left, guard.lease.eid, guard.epoch)

    async def wake(self, task: Task, held: Lease) -> None:
        """Tell the owner elsewhere what a RESUME says: directly within this process, else by a request in the lease.

        An owner that has missed a renewal is left alone: a write to its lease would only make it look alive.
        """
        services = self._services
        if services.hub.wake_execution(task.target, task.key) or held.idle_s > held.ttl_s / 2:
            return
        request = LeaseRequest(f"wake:{task.key}", "wake", services.provenance(), data={"cause": task.key})
        if all(other.id != request.id for other in held.requests):
            await services.ports.ownership.request(task.target, request)

    def delay_s(self, task: Task) -> float:
        """For how long to give back a task whose execution is owned elsewhere: from ttl/3 doubling to ttl."""
        ttl_s = self._services.config.exec_ttl_s
        delay_s = min(2 * self._delays.pop(task.task_id, ttl_s / 6), ttl_s)
        _remember(self._delays, task.task_id, delay_s)
        return delay_s


def _remember(where: OrderedDict[Eid, int] | OrderedDict[str, float], key: Eid | str, value: float) -> None:
    where[key] = value  # type: ignore[index,assignment]
    where.move_to_end(key)  # type: ignore[arg-type]
    if len(where) > _REMEMBERED:
        where.popitem(last=False)
