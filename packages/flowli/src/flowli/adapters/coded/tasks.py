"""Tasks as they are stored, and back."""

from __future__ import annotations

from dataclasses import replace

from flowli.adapters.coded.places import of_execution
from flowli.adapters.coded.values import Sealed, Values
from flowli.domain.data import Data
from flowli.domain.tasks import Task, TaskKind

__all__ = ["clear_task", "readable", "stored_task"]

_ARGS = "args"


async def stored_task(values: Values, task: Task) -> Task:
    """The task with its payload coded; one that is ``Sealed`` already is put back as it was."""
    value = _carried(task)
    if value is None and task.kind in (TaskKind.START, TaskKind.RESUME):
        return task  # nothing to hide: a wake-up without a word
    stored = dict(value) if isinstance(value, Sealed) else await values.encode(value, of_execution(task.target))
    return _with(task, stored)


async def clear_task(values: Values, task: Task) -> Task:
    """The task with its payload as it was, or ``Sealed`` if it cannot be read here."""
    return _with(task, await values.decode_or_sealed(_carried(task), of_execution(task.target)))


def readable(task: Task) -> bool:
    """Whether ``clear_task`` could read its payload."""
    return not isinstance(_carried(task), Sealed)


def _carried(task: Task) -> Data:
    """Of a START the arguments in the record that it carries, so that tools can tell what it starts."""
    if task.kind is TaskKind.START and isinstance(task.payload, dict):
        return task.payload.get(_ARGS)
    return task.payload


def _with(task: Task, value: Data) -> Task:
    if value is _carried(task):
        return task
    if task.kind is TaskKind.START and isinstance(task.payload, dict):
        return replace(task, payload={**task.payload, _ARGS: value})
    return replace(task, payload=value)
