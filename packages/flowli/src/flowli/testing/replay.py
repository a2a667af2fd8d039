"""Replay of recorded histories: whether today's code still goes the way that a journal records. No backend is needed.

    >>> entries = await engine.journal(eid)              # once, from wherever it ran
    >>> write_history(Path("histories/order.json"), entries)
    >>> def test_orders_still_replay():
    ...     replay(order, read_history(Path("histories/order.json"))).check()

Keep a few histories of each workflow beside its tests: a change that would park the executions that are under way is
then found before it is deployed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flowli import codec
from flowli.adapters.memory import MemoryBackend
from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionErased,
    ExecutionFailed,
    ExecutionStarted,
    JournalBody,
    JournalEntry,
)
from flowli.domain.errors import NondeterminismError, UsageError
from flowli.domain.execution import Execution
from flowli.domain.provenance import Actor, ActorKind, Code, Provenance, Site
from flowli.runtime.announcer import Announcer
from flowli.runtime.config import EngineConfig
from flowli.runtime.context import Context
from flowli.runtime.effects import Effects
from flowli.runtime.hub import Hub
from flowli.runtime.observe.observers import Observers
from flowli.runtime.registry import Registry, Workflow
from flowli.runtime.replay import difference
from flowli.runtime.replay.ending import Ending
from flowli.runtime.replay.session import Session
from flowli.runtime.services import Services
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.timestamp import Timestamp

__all__ = ["ReplayReport", "new_session", "read_history", "replay", "write_history"]

_PYTHON = ".".join(platform.python_version_tuple()[:2])


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What became of a replay.

    Attributes:
        entries: how many entries the history has.
        python: minor version of Python that wrote it, ``3.11``; "" if it does not say. Replay is exact within one.
        difference: the first difference, None if there is none.
        ending: how the code ended, None if it waits.
        commands: what the code asked for after the last entry, as it would be journaled next. Of an execution that was
            suspended there are none, unless the code has changed.
    """

    entries: int
    python: str
    difference: NondeterminismError | None
    ending: Ending | None
    commands: tuple[JournalBody, ...]

    def check(self) -> None:
        """Do nothing if the code still goes the recorded way.

        Raises:
            NondeterminismError: it does not; says where, what is recorded and what the code did.
        """
        if self.difference is not None:
            raise self.difference


def replay(
    workflow: Callable[..., Any] | Workflow, entries: Sequence[JournalEntry], *, registry: Registry | None = None
) -> ReplayReport:
    """Let ``workflow`` go through a journal. No step runs and nothing has an effect.

    Args:
        workflow: an async function that takes a context.
        entries: a journal from its first entry on, whole or cut off anywhere.
        registry: knows the workflows that it starts as children; by default only itself.

    Raises:
        UsageError: the history does not begin with ``execution.started``, or was erased.
    """
    execution = _execution(entries)
    last = entries[-1].body
    ends = isinstance(last, ExecutionCompleted | ExecutionFailed | ExecutionCancelled)
    session = new_session(workflow, execution, registry=registry)
    session.load(entries[:-1] if ends else entries)
    while not session.settled and session.divergence is None:
        session.advance(lambda: False)
    commands = tuple(entry.body for entry in session.take_buffer())
    found = session.divergence
    if found is None and ends:
        found = _other_end(entries[-1], session.ending, commands)
    session.loop.drop()
    code = entries[0].by.code
    return ReplayReport(len(entries), code.python if code else "", found, session.ending, commands)


def new_session(
    workflow: Callable[..., Any] | Workflow,
    execution: Execution,
    *,
    registry: Registry | None = None,
    now: Callable[[], Timestamp] | None = None,
    epoch: Callable[[], int] = lambda: 1,
) -> Session:
    """A session of ``workflow`` without a backend: whoever calls it plays the owner.

    Args:
        workflow: an async function that takes a context.
        execution: the record; its arguments are those of the function.
        registry: knows the workflows that it starts as children; by default only itself.
        now: stamps new entries; by default none is later than the last.
        epoch: stands in new entries.
    """
    registry, found = _registered(workflow, registry)
    actor, site = Actor(ActorKind.WORKER, "replay"), Site("replay")
    code = Code(found.name, found.version, code_ref=found.code_ref, python=_PYTHON)

    def by(attempt: int = 0) -> Provenance:
        last = session.fold.at or execution.created_at
        at = last if now is None else max(last, now())
        return Provenance(actor, site.at_epoch(epoch()), at, code, attempt)

    async def start(session: Session) -> Any:
        context = Context(session, Effects(_services(registry), execution, by))
        args, kwargs = codec.load_arguments(found.fn, execution.args, skip_first=True)
        return await found.fn(context, *args, **kwargs)

    session = Session(
        execution,
        start=start,
        encode_result=lambda value: codec.to_data(value, codec.return_hint(found.fn), path="result"),
        entry=lambda body, attempt, seq: JournalEntry(body, by(attempt), seq),
        code=found.fn,
    )
    return session


def read_history(path: Path) -> tuple[JournalEntry, ...]:
    """Read a history that ``write_history`` wrote."""
    return codec.load_journal(json.loads(path.read_text(encoding="utf-8")))


def write_history(path: Path, entries: Sequence[JournalEntry]) -> None:
    """Write a journal to a file, one record on a line, so that it can be kept under version control."""
    records = (json.dumps(record, ensure_ascii=False) for record in codec.dump_entries(entries))
    path.write_text("[\n" + ",\n".join(records) + "\n]\n", encoding="utf-8")


def _execution(entries: Sequence[JournalEntry]) -> Execution:
    first = entries[0].body if entries else None
    if not isinstance(first, ExecutionStarted):
        raise UsageError("a history begins with execution.started; give the whole journal of one execution")
    if isinstance(entries[-1].body, ExecutionErased):
        raise UsageError("the history was erased; its values are gone and nothing can be replayed")
    return first.execution


def _registered(workflow: Callable[..., Any] | Workflow, registry: Registry | None) -> tuple[Registry, Workflow]:
    alone = Registry()
    if isinstance(workflow, Workflow):
        return registry or alone, workflow
    for known in registry or ():
        if known.fn is workflow:
            return registry or alone, known
    found = alone.add(workflow)
    return registry or alone, found


def _services(registry: Registry) -> Services:
    world = ManualWorld(ManualClock(), name="replay")
    ports = MemoryBackend(world).ports
    site, config = Site("replay"), EngineConfig()
    return Services(ports, site, registry, config, world, Hub(world), Announcer(ports.control, world), Observers(world))


def _other_end(
    entry: JournalEntry, ending: Ending | None, commands: Sequence[JournalBody]
) -> NondeterminismError | None:
    """The difference between the recorded end and that of the code."""
    recorded = entry.body
    if isinstance(recorded, ExecutionCancelled) and (ending is None or isinstance(ending, ExecutionCancelled)):
        return None  # it was terminated, or ended in its cancel
    if commands:
        command = difference.describe_entry(replace(entry, body=commands[0]))
        return NondeterminismError(entry.seq, difference.describe_entry(entry), command)
    match recorded, ending:
        case ExecutionCompleted(value), ExecutionCompleted(found) if value == found:
            return None
        case ExecutionFailed(error), ExecutionFailed(found) if (error.type, error.message) == (
            found.type,
            found.message,
        ):
            return None
    return NondeterminismError(entry.seq, _end_in_words(recorded), _end_in_words(ending))


def _end_in_words(body: JournalBody | None) -> str:
    match body:
        case None:
            return "no end: it still waits"
        case ExecutionCompleted(value):
            return f"the result {_short(value)}"
        case ExecutionFailed(error):
            return f"the failure {error}"
        case _:
            return body.tag


def _short(value: Data) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
