"""Event streams: lists, one execution, its frames, its logs. Polling with ETags tells the same."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import Query, Response

from flowli import ExecutionStatus
from flowli.domain.entries import JournalEntry
from flowli.domain.memo import JournalFold
from flowli_api.dto.base import Out
from flowli_api.dto.executions import ExecutionSummary
from flowli_api.dto.journal import EntryOut, FrameOut
from flowli_api.live.feed import parse_place
from flowli_api.live.stream import EVENTS, EndOut, Event, EventStream
from flowli_api.params import EidPath, FidText, LastId, Name
from flowli_api.problems import Problem
from flowli_api.routes.evidence import LogOut
from flowli_api.routes.reading import detail
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires

__all__ = ["router"]

router = ApiRouter(tags=["events"])


class PlaceOut(Out):
    """Where a stream stands."""

    control_seq: int


@router.get("/events", operation_id="follow_executions", response_class=Response, responses=EVENTS)
@requires("executions:read")
async def follow_executions(
    caller: Caller,
    service: ServiceOf,
    workflow: Name | None = None,
    queue: Name | None = None,
    status: Annotated[list[ExecutionStatus] | None, Query(max_length=6)] = None,
    last_id: LastId = None,
) -> Response:
    """Executions that change, as rows of the list: `execution`; `reset` (read the list anew); `place` (up to where).

    With `status` an execution that leaves the list is told of too, once: compare its status.
    """
    since = parse_place(last_id)

    def fits(row: ExecutionSummary) -> bool:
        return caller.sees(row.workflow) and workflow in (None, row.workflow) and queue in (None, row.queue)

    async def events() -> AsyncIterator[Event]:
        shown: set[str] = set()
        async with aclosing(service.feed.follow(since)) as rounds:
            async for found in rounds:
                for row in map(ExecutionSummary.of, found.rows):
                    listed = status is None or row.status in status
                    if fits(row) and (listed or row.eid in shown):
                        yield Event("execution", row)
                        (shown.add if listed else shown.discard)(row.eid)
                yield Event("reset" if found.reset else "place", PlaceOut(control_seq=found.after.seq), found.id)

    return EventStream(service, caller, events())


@router.get("/executions/{eid}/events", operation_id="follow_execution", response_class=Response, responses=EVENTS)
@requires("executions:read")
async def follow_execution(eid: EidPath, caller: Caller, service: ServiceOf, last_id: LastId = None) -> Response:
    """One execution: `entry` for each entry of its journal, `execution` after each stretch of them, `end`."""
    await service.reach(caller, eid)
    await service.engine.status(eid)
    after = _number(last_id)
    values = caller.may("values:read")

    async def events() -> AsyncIterator[Event]:
        async with aclosing(service.journals.follow(eid, after)) as stretches:
            async for entries in stretches:
                for entry in entries:
                    yield Event("entry", EntryOut.of(entry, values), str(entry.seq))
                yield Event("execution", await detail(service, caller, eid, None))
        yield Event("end", EndOut(eid=str(eid)))

    return EventStream(service, caller, events())


@router.get("/executions/{eid}/frames/events", operation_id="follow_frames", response_class=Response, responses=EVENTS)
@requires("executions:read")
async def follow_frames(eid: EidPath, caller: Caller, service: ServiceOf, last_id: LastId = None) -> Response:
    """The frames of an execution, each whenever it changes: `frame`; then `end`."""
    await service.reach(caller, eid)
    await service.engine.status(eid)
    after = _number(last_id)
    values = caller.may("values:read")

    async def events() -> AsyncIterator[Event]:
        fold = JournalFold()
        async with aclosing(service.journals.follow(eid, 0)) as stretches:
            async for entries in stretches:
                for frame in _changed(fold, entries, after):
                    yield Event("frame", FrameOut.of(fold.frames[frame], values))
                if fold.seq > after:
                    yield Event("place", PlaceOut(control_seq=fold.seq), str(fold.seq))
        yield Event("end", EndOut(eid=str(eid)))

    return EventStream(service, caller, events())


@router.get("/executions/{eid}/logs/events", operation_id="follow_logs", response_class=Response, responses=EVENTS)
@requires("evidence:read")
async def follow_logs(
    eid: EidPath,
    caller: Caller,
    service: ServiceOf,
    fid: Annotated[FidText | None, Query()] = None,
    last_id: LastId = None,
) -> Response:
    """The logs of attempts, each once it is there: `log`; `end` when the execution has ended."""
    await service.reach(caller, eid)
    await service.engine.status(eid)
    told = dict.fromkeys((last_id or "").split(".") if last_id else ())

    async def events() -> AsyncIterator[Event]:
        while True:
            ended = (await service.engine.status(eid)).status.terminal
            for log in await service.engine.logs(eid, fid):
                name = f"{log.fid} {log.attempt} {log.epoch} {log.run}"
                mark = hashlib.sha256(name.encode()).hexdigest()[:8]
                if mark not in told:
                    told[mark] = None
                    yield Event("log", LogOut.of(log), ".".join(list(told)[-200:]))
            if ended:
                break
            await service.world.sleep(2 * service.config.poll_s)
        yield Event("end", EndOut(eid=str(eid)))

    return EventStream(service, caller, events())


def _changed(fold: JournalFold, entries: list[JournalEntry], after: int) -> list[str]:
    """Fold entries; the frames that those behind ``after`` are about."""
    changed: dict[str, None] = {}
    for entry in entries:
        fold.add(entry)
        fid = getattr(entry.body, "fid", None)
        if entry.seq > after and fid in fold.frames:
            changed[fid] = None
    return list(changed)


def _number(text: str | None) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Problem("invalid", "Last-Event-ID: no event of this stream has that id; begin without one.")
    return int(text)
