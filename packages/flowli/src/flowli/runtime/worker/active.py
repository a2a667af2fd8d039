"""``Active``: an execution that this worker is dealing with, and the tasks that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flowli.domain.entries import JournalEntry
from flowli.domain.memo import JournalFold
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.owner.owner import Owner
from flowli.runtime.protocols.causes import OUTCOMES, answered_cause
from flowli.runtime.worker.fates import Ack, Fate
from flowli.runtime.worker.renewal import LeaseGuard

__all__ = ["Active"]


@dataclass(slots=True, eq=False)
class Active:
    """See the module's docstring.

    Attributes:
        done: the fate of the task that it was begun for, and of every task that waits to the end.
        progress: called when an outcome has become durable.
        owner: None while the execution is looked at and acquired.
        guard: of the lease, once it is acquired.
        early: RESUME tasks that came before there was an owner to tell.
        posted: appends to the control log that the acks wait for.
        joined: tasks that wait for it beside the first one.
    """

    done: asyncio.Future[Fate]
    progress: Callable[[], None]
    owner: Owner | None = None
    guard: LeaseGuard | None = None
    early: list[Task] = field(default_factory=list)
    posted: list[asyncio.Task[int]] = field(default_factory=list)
    joined: dict[str, list[asyncio.Future[Fate | None]]] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether what is told now is still acted on."""
        return not self.done.done() and (self.owner is None or not self.owner.sealed)

    async def join(self, task: Task) -> Fate | None:
        """Tell the execution what the task says; returns when that is journaled or the execution is let go.

        None means that nobody came to own the execution, so that nobody was told: what became of the first task says
        nothing about this one.
        """
        if task.kind is TaskKind.RESUME:
            if self.owner is None:
                self.early.append(task)
            else:
                self.owner.listener.take_resume(task)
        future: asyncio.Future[Fate | None] = asyncio.get_running_loop().create_future()
        self.joined.setdefault(task.key, []).append(future)
        return await future

    def landed(self, entries: Sequence[JournalEntry], fold: JournalFold) -> None:
        """These entries are durable: tasks whose cause is among them are done."""
        if any(isinstance(entry.body, OUTCOMES) for entry in entries):
            self.progress()
        for entry in entries if self.joined else ():
            cause = answered_cause(entry, fold)
            if cause is not None:
                self._settle(self.joined.pop(cause, ()), Ack(tuple(self.posted)))

    def end(self, fate: Fate) -> None:
        """The execution is let go."""
        self.done.set_result(fate)
        for waiting in self.joined.values():
            self._settle(waiting, None if self.owner is None else fate)
        self.joined.clear()

    def _settle(self, waiting: Sequence[asyncio.Future[Fate | None]], fate: Fate | None) -> None:
        for future in waiting:
            if not future.done():
                future.set_result(fate)
