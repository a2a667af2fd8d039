"""Operator verbs on queues: pausing, limits, and the tasks that were set aside.

Like the verbs on executions each takes who asks, why, and an optional key that makes it once-only, and leaves an
``operator.acted`` in the control log.
"""

from __future__ import annotations

from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.errors import NotAllowed, UsageError
from flowli.domain.ids import Eid, check_key, check_name
from flowli.domain.provenance import Actor, Provenance
from flowli.domain.tasks import DeadTask, QueueSettings, TaskKind
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.operating import OperatorVerbs
from flowli.runtime.protocols.causes import is_answered
from flowli.runtime.protocols.receipt import claim_command
from flowli.runtime.protocols.standing import find_standing

__all__ = ["QueueVerbs"]


class QueueVerbs(OperatorVerbs):
    """``queue_settings``, ``pause_queue``, ``resume_queue``, ``limit_queue``, ``dead_letters``, ``retry_dead``,
    ``drop_dead``.
    """

    async def queue_settings(self, queue: str) -> QueueSettings:
        """What holds for a queue in the whole fleet: whether it is paused, and its limits."""
        return await self.ports.queue.settings(check_name("queue", queue))

    async def pause_queue(
        self, queue: str, reason: str, *, key: str | None = None, actor: Actor | None = None
    ) -> QueueSettings:
        """No worker takes a task from the queue until ``resume_queue``; what is being worked on goes on.

        Args:
            queue: its name.
            reason: why; it is shown wherever the queue is.
            key: the same pause with the same key is one; None for a new one.
            actor: who asks; this process if None.

        Raises:
            UsageError: no reason is given.
            DispatchConflict: the key was used for something else.
        """
        if not reason:
            raise UsageError(f"queue '{queue}' can be paused with a reason only; say why")
        by = await self._commanded("pause_queue", queue, reason, key, actor, {})
        settings = replace(await self.queue_settings(queue), paused=reason)
        return await self._configure("pause_queue", queue, settings, reason, key, by)

    async def resume_queue(
        self, queue: str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> QueueSettings:
        """Workers take tasks from the queue again; arguments and errors are those of ``pause_queue``."""
        by = await self._commanded("resume_queue", queue, reason, key, actor, {})
        settings = replace(await self.queue_settings(queue), paused=None)
        return await self._configure("resume_queue", queue, settings, reason, key, by)

    async def limit_queue(
        self,
        queue: str,
        *,
        concurrency: int | None = None,
        rate: int | None = None,
        rate_period_s: float = 1.0,
        reason: str = "",
        key: str | None = None,
        actor: Actor | None = None,
    ) -> QueueSettings:
        """Limit a queue in the whole fleet, in place of the limits so far.

        Args:
            concurrency: how many of its tasks may be worked on at once; None for no limit.
            rate: how many tasks may be begun per ``rate_period_s`` seconds; None for no limit.

        Raises:
            UsageError: a limit that cannot work.
            DispatchConflict: the key was used for something else.
        """
        limits: dict[str, float | None] = {"concurrency": concurrency, "rate": rate, "rate_period_s": rate_period_s}
        for name, limit in limits.items():
            if limit is not None and not limit > 0:
                raise UsageError(
                    f"{name} of queue '{queue}' is {limit}; it must be positive (pause_queue stops a queue)"
                )
        by = await self._commanded("limit_queue", queue, reason, key, actor, {**limits})
        settings = QueueSettings((await self.queue_settings(queue)).paused, concurrency, rate, rate_period_s)
        return await self._configure("limit_queue", queue, settings, reason, key, by, **limits)

    async def dead_letters(
        self, queue: str | None = None, *, eid: Eid | str | None = None, limit: int = 100
    ) -> list[DeadTask]:
        """The tasks that were set aside, each with the cause in one sentence; the oldest of a queue first.

        Args:
            queue: only of this queue; None for all.
            eid: only those of one execution.
            limit: how many of each queue are looked at.
        """
        target = None if eid is None else as_eid(eid)
        queues = await self.ports.queue.queues() if queue is None else [check_name("queue", queue)]
        found = [dead for name in queues for dead in await self.ports.queue.dead(name, limit=limit)]
        return [dead for dead in found if target in (None, dead.task.target)]

    async def retry_dead(
        self, dead: DeadTask, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> bool:
        """Put a task that was set aside back into its queue, with no deaths: its execution goes on from where it stood.

        *A crash after the task is back*: what is missing is the receipt, and the letter may still be listed; the same
        call does the rest.

        Args:
            dead: as ``dead_letters`` gave it.
            reason: why, for people.
            key: the same retry with the same key is one; None for a new one.
            actor: who asks; this process if None.

        Returns:
            False if it is among the dead no more.

        Raises:
            NotAllowed: it is of a detached step that has failed since; ``retry`` makes a new execution.
            DispatchConflict: the key was used for something else.
        """
        task = dead.task
        if task.kind is TaskKind.RUN_STEP:
            await self._require_wanted(dead)
        by = await self._commanded("retry_dead", task.target, reason, key, actor, {"task": task.task_id})
        revived = await self.ports.queue.revive(dead)
        self.hub.wake_queue(task.queue)
        await self._acted("retry_dead", task.target, reason, key, by, queue=task.queue, task=task.task_id)
        return revived

    async def drop_dead(
        self, dead: DeadTask, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> bool:
        """Remove a task that was set aside for good. Its execution stays as it is until ``resume`` or ``terminate``.

        Arguments and errors are those of ``retry_dead``.
        """
        task = dead.task
        by = await self._commanded("drop_dead", task.target, reason, key, actor, {"task": task.task_id})
        dropped = await self.ports.queue.discard(dead)
        await self._acted("drop_dead", task.target, reason, key, by, queue=task.queue, task=task.task_id)
        return dropped

    async def _require_wanted(self, dead: DeadTask) -> None:
        """Refuse what nobody waits for: setting a detached step aside made it fail."""
        eid = dead.task.target
        standing = await find_standing(self.ports, eid)
        if standing is not None and not standing.ended and not is_answered(f"step:{dead.task.key}", standing.fold):
            return
        raise NotAllowed(
            f"nobody waits for task {dead.task.task_id} any more: its step has failed with the cause, or execution "
            f"{eid} has ended; engine.retry({str(eid)!r}) starts a new one from the step that failed"
        )

    async def _commanded(
        self, verb: str, where: str | Eid, reason: str, key: str | None, actor: Actor | None, content: dict[str, Data]
    ) -> Provenance:
        """Who asked first; ``where`` is a queue, or the execution of a task."""
        by = self._by(actor)
        if key is None:
            return by
        asked: dict[str, Data] = {"reason": reason, **content}
        on_queue = isinstance(where, str)
        about, named = (f"queue:{where}", f"queue '{where}'") if on_queue else (str(where), f"execution {where}")
        return await claim_command(self.ports, about, named, check_key("key", key), verb, asked, by)

    async def _configure(
        self,
        verb: str,
        queue: str,
        settings: QueueSettings,
        reason: str,
        key: str | None,
        by: Provenance,
        **content: Data,
    ) -> QueueSettings:
        await self.ports.queue.configure(queue, settings)
        self.hub.wake_queue(queue)
        await self._acted(verb, None, reason, key, by, queue=queue, **content)
        return settings
