"""``Author``: who writes the entries of one owner, and the code that it runs."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionStarted, JournalBody, JournalEntry
from flowli.domain.execution import Execution
from flowli.domain.provenance import Actor, ActorKind, Code, Provenance
from flowli.runtime.context import Context
from flowli.runtime.effects import Effects
from flowli.runtime.limits import check_size
from flowli.runtime.registry import Workflow
from flowli.runtime.replay.session import Session
from flowli.runtime.services import Services
from flowli.timestamp import Timestamp

__all__ = ["Author"]

_PYTHON = ".".join(platform.python_version_tuple()[:2])


class Author:
    """See the module's docstring.

    Args:
        last_at: the instant of the last entry; None if there is none.

    Attributes:
        floor: no entry is stamped before it: the greatest instant that has fired anywhere.
    """

    def __init__(
        self,
        services: Services,
        execution: Execution,
        workflow: Workflow,
        last_at: Callable[[], Timestamp | None],
    ) -> None:
        self._services = services
        self._execution = execution
        self._workflow = workflow
        self._last_at = last_at
        self._code = Code(execution.workflow, workflow.version, code_ref=workflow.code_ref, python=_PYTHON)
        self._site = services.site
        self._actor = Actor(ActorKind.WORKER, services.site.worker_id)
        self.floor = execution.created_at

    def act_under(self, epoch: int) -> None:
        """Write as the owner of this epoch from now on."""
        self._site = self._services.site.at_epoch(epoch)

    def by(self, attempt: int = 0) -> Provenance:
        """This owner, now: never before the entry that precedes it, nor before an instant that has fired elsewhere."""
        at = max(self._services.world.now(), self.floor, self._last_at() or self.floor)
        return Provenance(self._actor, self._site, at, self._code, attempt)

    def now(self) -> Timestamp:
        """The present; an instant that has fired elsewhere has passed here as well."""
        return max(self._services.world.now(), self.floor)

    def entry(self, body: JournalBody, attempt: int, seq: int) -> JournalEntry:
        """A live entry."""
        by = self.by(attempt)
        if isinstance(body, ExecutionStarted):
            # what the code sees as the present before its first outcome, live and replayed
            by = replace(by, at=self._execution.created_at)
        return JournalEntry(body, by, seq)

    async def start(self, session: Session) -> Any:
        """Run the workflow function."""
        context = Context(session, Effects(self._services, self._execution, self.by))
        args, kwargs = codec.load_arguments(self._workflow.fn, self._execution.args, skip_first=True)
        return await self._workflow.fn(context, *args, **kwargs)

    def encode(self, value: Any) -> Data:
        """The recorded form of its result."""
        data = codec.to_data(value, codec.return_hint(self._workflow.fn), path="result")
        check_size("the result of the workflow", data, self._services.config.max_value_bytes, verb="return")
        return data
