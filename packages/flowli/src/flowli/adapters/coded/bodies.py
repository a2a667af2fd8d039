"""Which value an entry carries, and the same entry with another in its place. Everything else of it stays clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from flowli.adapters.coded.places import Place
from flowli.adapters.coded.stored import Escaped, from_text, to_text
from flowli.adapters.coded.values import Sealed, Values
from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionStarted,
    FrameCompleted,
    FrameFailed,
    JournalBody,
    JournalEntry,
)
from flowli.domain.errors import ErrorInfo

__all__ = ["decode_entries", "decode_error", "encode_entries", "encode_error"]

_Carrying: TypeAlias = ExecutionStarted | ExecutionCompleted | ExecutionFailed | FrameCompleted | FrameFailed
_CARRYING = (ExecutionStarted, ExecutionCompleted, ExecutionFailed, FrameCompleted, FrameFailed)


async def encode_entries(
    values: Values, entries: Sequence[JournalEntry], place: Place, *, offload: bool = True
) -> list[JournalEntry]:
    """The entries as they are stored; ``offload`` as in ``Values.encode``."""
    made = list(entries)
    for n, entry in enumerate(entries):
        body = entry.body
        if isinstance(body, _CARRYING):
            clear = _clear(body)
            stored = await values.encode(clear, place, offload=offload)
            if isinstance(body, ExecutionFailed | FrameFailed):
                stored = _escaped(body.error, clear, stored)
            if stored is not clear:
                made[n] = replace(entry, body=_with_stored(body, stored))
    return made


async def decode_entries(values: Values, entries: Sequence[JournalEntry], place: Place) -> tuple[JournalEntry, ...]:
    """The entries as they were before they were stored.

    Raises:
        ValueUnreadable: one of them carries what cannot be read here.
    """
    made = list(entries)
    carried: list[tuple[int, _Carrying, Data]] = []
    for n, entry in enumerate(entries):
        body = entry.body
        if isinstance(body, _CARRYING) and (stored := _stored(body)) is not None:
            carried.append((n, body, stored))
    clear = await values.decode_all([(stored, place) for _, _, stored in carried])
    for (n, body, stored), value in zip(carried, clear, strict=True):
        if value is not stored:
            made[n] = replace(entries[n], body=_with_clear(body, value))
    return tuple(made)


async def encode_error(values: Values, error: ErrorInfo, place: Place) -> ErrorInfo:
    """An error whose message and traceback stand in a stored form; its type stays clear."""
    clear = _of_error(error)
    stored = _escaped(error, clear, await values.encode(clear, place, offload=False))
    return error if stored is clear else _stored_error(error, stored)


async def decode_error(values: Values, error: ErrorInfo, place: Place) -> ErrorInfo:
    """Undo ``encode_error``; a message that cannot be read here says so instead."""
    stored = from_text(error.message)
    if stored is None:
        return error
    value = await values.decode_or_sealed(stored, place)
    if isinstance(value, Sealed):
        return replace(error, message="(its message is encrypted, and the key is not here)")
    return _clear_error(error, value)


def _clear(body: _Carrying) -> Data:
    match body:
        case ExecutionStarted(execution):
            return execution.args
        case ExecutionCompleted(value) | FrameCompleted(value=value):
            return value
        case ExecutionFailed(error) | FrameFailed(error=error):
            return _of_error(error)


def _stored(body: _Carrying) -> Data:
    match body:
        case ExecutionFailed(error) | FrameFailed(error=error):
            return from_text(error.message)
        case _:
            return _clear(body)


def _with_stored(body: _Carrying, stored: Data) -> JournalBody:
    match body:
        case ExecutionFailed(error) | FrameFailed(error=error):
            return replace(body, error=_stored_error(error, stored))
        case _:
            return _with(body, stored)


def _with_clear(body: _Carrying, value: Data) -> JournalBody:
    match body:
        case ExecutionFailed(error) | FrameFailed(error=error):
            return replace(body, error=_clear_error(error, value))
        case _:
            return _with(body, value)


def _with(body: ExecutionStarted | ExecutionCompleted | FrameCompleted, value: Data) -> JournalBody:
    if isinstance(body, ExecutionStarted):
        return replace(body, execution=replace(body.execution, args=cast("dict[str, Data]", value)))
    return replace(body, value=value)


def _escaped(error: ErrorInfo, clear: Data, stored: Data) -> Data:
    """An error that went through no step, but whose message looks as if it had."""
    return Escaped(clear).to_data() if stored is clear and from_text(error.message) is not None else stored


def _of_error(error: ErrorInfo) -> list[Data]:
    return [error.message, error.traceback]


def _stored_error(error: ErrorInfo, stored: Data) -> ErrorInfo:
    return ErrorInfo(error.type, to_text(cast("dict[str, Data]", stored)))


def _clear_error(error: ErrorInfo, value: Data) -> ErrorInfo:
    message, traceback = cast("list[str]", value)
    return ErrorInfo(error.type, message, traceback)
