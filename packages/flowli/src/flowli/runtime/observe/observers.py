"""``Observers``: tells those who watch an engine, and costs nothing when nobody does."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import structlog

from flowli.descriptors import ObserverType
from flowli.domain.entries import ControlEntry, FrameFailed, JournalEntry
from flowli.domain.errors import UsageError
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.runtime.observe.changes import change_of
from flowli.runtime.observe.delivery import Delivery, Observer
from flowli.runtime.observe.events import Change, Event, ExecutionChanged, StepRetries
from flowli.runtime.observe.spans import trace_end
from flowli.runtime.observe.tracer import NO_TRACER, Tracer
from flowli.world import World

__all__ = ["Observers", "plugin_observers"]

_log = structlog.get_logger("flowli.observers")
_REMEMBERED = 10_000
_BOUND = 10_000
_DRAIN_S = 5.0


class Observers:
    """The observers of one engine: those given, then those of the plugins, collected once, at the first event.

    Replay tells nothing: events come from what was committed here, never from what was read.

    Args:
        given: objects with ``observe``, and at most one tracer.
        bound: how many events may wait for one observer.

    Raises:
        UsageError: one of ``given`` has no method ``observe``, or two of them are tracers.
    """

    def __init__(self, world: World, given: Sequence[Observer | Tracer] = (), *, bound: int = _BOUND) -> None:
        self._world = world
        self._bound = bound
        self._told: OrderedDict[tuple[Eid, Change, int], None] = OrderedDict()
        self._known: OrderedDict[Eid, tuple[str, str, str]] = OrderedDict()
        self._collected = False
        self._deliveries: list[Delivery] = []
        self._tracer = NO_TRACER
        for observer in given:
            self.add(observer)

    def add(self, observer: Observer | Tracer) -> None:
        """One more observer; it is told of what happens from now on."""
        if isinstance(observer, Tracer):
            if self._tracer is not NO_TRACER:
                raise UsageError(f"{observer!r} is a second tracer beside {self._tracer!r}; give one of them")
            self._tracer = observer
            return
        if not callable(getattr(observer, "observe", None)):
            raise UsageError(f"{observer!r} is no observer; it needs a method observe(event), plain or async")
        self._deliveries.append(Delivery(observer, self._world, self._bound))

    @property
    def active(self) -> bool:
        """Whether anybody watches."""
        if not self._collected:
            self._collect()
        return bool(self._deliveries)

    @property
    def tracer(self) -> Tracer:
        """The one that makes spans, or one that only hands contexts on."""
        if not self._collected:
            self._collect()
        return self._tracer

    def _collect(self) -> None:
        self._collected = True
        for observer in plugin_observers():
            if isinstance(observer, Tracer) and self._tracer is not NO_TRACER:
                _log.warning("a plugin's tracer is left out; the engine has one", observer=repr(observer))
            else:
                self.add(observer)

    def tell(self, event: Event) -> None:
        """Tell all of them, soon."""
        if self.active:
            for delivery in self._deliveries:
                delivery.put(event)

    def know(self, execution: Execution) -> None:
        """Later events name its workflow, version and queue."""
        if self.active:
            self._know(execution.eid, (execution.workflow, execution.version, execution.queue))

    def posted(self, entries: Iterable[ControlEntry]) -> None:
        """These control entries follow journal entries that this process has written; those told before are not told
        again.
        """
        if not self.active:
            return
        for entry in entries:
            changed = change_of(entry)
            if changed is not None and self._is_news(changed):
                self.tell(self._complete(changed))

    def committed(self, execution: Execution, entries: Iterable[JournalEntry]) -> None:
        """These journal entries were committed here: tells of the retries among them, which have no control entry."""
        tracer = self.tracer
        if tracer is not NO_TRACER:
            for entry in entries:
                trace_end(tracer, execution, entry)
        if not self.active:
            return
        self.know(execution)
        for entry in entries:
            body = entry.body
            if isinstance(body, FrameFailed) and body.retry_at is not None:
                self.tell(
                    StepRetries(
                        execution.eid, body.fid, body.attempt, execution.workflow, entry.at, body.error, body.retry_at
                    )
                )

    async def drain(self) -> None:
        """Return when everybody was told everything, or has had 5 s for it."""
        if self._deliveries:
            await asyncio.gather(*(delivery.drain(_DRAIN_S) for delivery in self._deliveries))

    def _is_news(self, changed: ExecutionChanged) -> bool:
        """Whether it was not told yet: twins are posted again after a crash or a doubt."""
        name = (changed.eid, changed.change, changed.journal_seq)
        if name in self._told:
            return False
        self._told[name] = None
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return True

    def _complete(self, changed: ExecutionChanged) -> ExecutionChanged:
        if changed.change is Change.CREATED:
            self._know(changed.eid, (changed.workflow, changed.version, changed.queue))
            return changed
        workflow, version, queue = self._known.get(changed.eid, ("", "", ""))
        return replace(changed, workflow=workflow, version=changed.version or version, queue=queue)

    def _know(self, eid: Eid, what: tuple[str, str, str]) -> None:
        self._known[eid] = what
        self._known.move_to_end(eid)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def plugin_observers() -> list[Observer | Tracer]:
    """The observers of the installed plugins (hook ``flowli_observers``); what is broken is reported and skipped."""
    from flowli.plugins import PluginError, manager

    try:
        loaded = manager().load_each(ObserverType)
    except PluginError as error:
        _log.error("the observers of plugins are left out", error=str(error))
        return []
    found = list[Observer | Tracer]()
    for name, observer in loaded.items():
        if isinstance(observer, Tracer):
            found.append(observer)
        elif callable(getattr(observer, "observe", None)):
            found.append(cast("Observer", observer))
        else:
            _log.error("a plugin's observer is left out; it has no method observe(event)", name=name)
    return found
