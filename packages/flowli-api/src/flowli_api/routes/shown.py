"""What a workflow shows to readers outside: published values, streams."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field, JsonValue

from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.runtime.engine import Shown, StreamPage
from flowli_api.answers import answer
from flowli_api.dto.base import Out
from flowli_api.live.feed import parse_place
from flowli_api.live.stream import EVENTS, EndOut, Event, EventStream
from flowli_api.params import EidPath, LastId, NamePath
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["ShownOut", "StreamOut", "router"]

router = ApiRouter(tags=["executions"])

_OWN = re.compile(r"\._(published|stream)-([^.]+)$")
_AT_ONCE = 1000

_Place = Annotated[
    str | None,
    Query(pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$", description="`next_after` of the page before.", examples=["4.2"]),
]


class NamesOut(Out):
    """Under which names an execution has shown something."""

    eid: str
    published: list[str] = Field(examples=[["progress"]], description="Values, each in the place of the one before.")
    streams: list[str] = Field(examples=[["lines"]], description="Values, one after another.")


class ShownOut(Out):
    """A value that a workflow showed."""

    value: JsonValue
    at: str
    number: int = Field(description="Counts the values of this name from 1.")

    @classmethod
    def of(cls, shown: Shown) -> ShownOut:
        """From the engine."""
        return cls(value=shown.value, at=str(shown.at), number=shown.number)


class StreamOut(Out):
    """A stretch of a stream, in order."""

    items: list[ShownOut]
    next_after: str = Field(
        examples=["4.2"], description="Give it as `after` to go on, also when nothing is there yet."
    )
    closed: bool = Field(description="The workflow has closed the stream: nothing follows.")


@router.get("/executions/{eid}/shown", response_model=NamesOut, operation_id="list_shown")
@requires("executions:read")
async def list_shown(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """The names of what the workflow has published and of its streams."""
    await service.reach(caller, eid)
    names: dict[str, dict[str, None]] = {"published": {}, "stream": {}}
    for frame in (await service.engine.frames(eid)).frames.values():
        found = _OWN.search(str(frame.metadata.get("channel", "")))
        if found is not None:
            names[found[1]][found[2]] = None
    return answer(request, NamesOut(eid=str(eid), published=list(names["published"]), streams=list(names["stream"])))


@router.get("/executions/{eid}/published/{name}", response_model=ShownOut, operation_id="read_published")
@requires("values:read")
async def read_published(
    eid: EidPath, name: NamePath, request: Request, caller: Caller, service: ServiceOf
) -> Response:
    """The value that the workflow published last under a name."""
    await service.reach(caller, eid)
    shown = await service.engine.published(eid, name)
    if shown is None:
        raise Problem("not_found", f"Execution {eid} has published nothing under '{name}'.")
    return answer(request, ShownOut.of(shown))


@router.get("/executions/{eid}/streams/{name}", response_model=StreamOut, operation_id="read_stream")
@requires("values:read")
async def read_stream(
    eid: EidPath,
    name: NamePath,
    request: Request,
    caller: Caller,
    service: ServiceOf,
    after: _Place = None,
    limit: Annotated[int, Query(ge=1, le=_AT_ONCE, description="About so many at most.")] = _AT_ONCE,
) -> Response:
    """What the workflow wrote to a stream, in order. A value may come again, with the same `number`."""
    await service.reach(caller, eid)
    page = await service.engine.read_stream(eid, name, parse_place(after) or START, limit=limit)
    end = f"{page.position.commit}.{page.position.seq}"
    items = [ShownOut.of(one) for one in page.items]
    return answer(request, StreamOut(items=items, next_after=end, closed=page.closed))


@router.get(
    "/executions/{eid}/streams/{name}/events", operation_id="follow_stream", response_class=Response, responses=EVENTS
)
@requires("values:read")
async def follow_stream(
    eid: EidPath, name: NamePath, caller: Caller, service: ServiceOf, last_id: LastId = None
) -> Response:
    """What the workflow writes to a stream: `item`; `end` when it closes the stream or the execution has ended."""
    await service.reach(caller, eid)
    await service.engine.status(eid)
    return EventStream(service, caller, _items(service, eid, name, parse_place(last_id) or START))


async def _items(service: Service, eid: Eid, name: str, place: Position) -> AsyncIterator[Event]:
    closed = False
    if place != START:  # the last item has the id of the end: whoever was not told of it is told now
        before = await _page(service, eid, name, Position(max(0, place.commit - 1), 0))
        closed = before.closed and before.position == place
    if not closed:
        # each write is journaled once it stands in the stream: one look at the journal serves all who follow
        async with aclosing(service.journals.follow(eid, 0)) as stretches:
            async for _ in stretches:
                while not closed:
                    page = await _page(service, eid, name, place)
                    if page.position == place:
                        break
                    place, closed = page.position, page.closed
                    end = f"{place.commit}.{place.seq}"
                    for one in page.items:
                        yield Event("item", ShownOut.of(one), end if one is page.items[-1] else None)
                if closed:
                    break
    yield Event("end", EndOut(eid=str(eid)))


async def _page(service: Service, eid: Eid, name: str, after: Position) -> StreamPage:
    return await service.engine.read_stream(eid, name, after, limit=_AT_ONCE)
