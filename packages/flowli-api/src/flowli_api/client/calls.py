"""Every call of the clients as a value: what is sent, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, JsonValue

from flowli_api.dto.catalog import MeOut, WorkflowPage
from flowli_api.dto.common import Written
from flowli_api.dto.executions import ExecutionOut, ExecutionPage
from flowli_api.dto.insight import ExplanationOut
from flowli_api.dto.journal import FramesOut, JournalOut
from flowli_api.dto.queues import QueuePage
from flowli_api.routes.bulk import BulkOut
from flowli_api.routes.operating import Answered, Sent, Started
from flowli_api.routes.reading import ResultOut
from flowli_api.routes.shown import ShownOut, StreamOut

__all__ = ["Call", "Calls"]

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call(Generic[M]):
    """One request.

    Attributes:
        model: of the answer.
        key: the idempotency key; the client draws one for a write without.
        repeatable: doing it twice is doing it once.
        wait_s: how long the service may take on purpose.
    """

    method: str
    path: str
    model: type[M]
    body: Mapping[str, object] | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    after: int | None = None
    key: str | None = None
    repeatable: bool = True
    wait_s: float = 0.0


class Calls:
    """Makes calls; the names are those of the clients, which document them."""

    @staticmethod
    def me() -> Call[MeOut]:
        """Who the token stands for."""
        return Call("GET", "/v1/me", MeOut)

    @staticmethod
    def workflows() -> Call[WorkflowPage]:
        """The catalog."""
        return Call("GET", "/v1/workflows", WorkflowPage)

    @staticmethod
    def start(
        workflow: str, args: Sequence[object], kwargs: Mapping[str, object], options: Mapping[str, object]
    ) -> Call[Started]:
        """Start an execution; ``options`` are further fields of the body."""
        given = {name: value for name, value in options.items() if value is not None and name != "idempotency_key"}
        body = {"workflow": workflow, "args": list(args), "kwargs": dict(kwargs), **given}
        key = options.get("idempotency_key")
        return Call("POST", "/v1/executions", Started, body, key=None if key is None else str(key))

    @staticmethod
    def executions(filters: Mapping[str, object], after: int | None) -> Call[ExecutionPage]:
        """One page of the list."""
        given = {name: value for name, value in filters.items() if value is not None}
        return Call("GET", "/v1/executions", ExecutionPage, params=given, after=after)

    @staticmethod
    def execution(eid: UUID | str, after: int | None) -> Call[ExecutionOut]:
        """One execution."""
        return Call("GET", _path(eid), ExecutionOut, after=after)

    @staticmethod
    def journal(eid: UUID | str, after: int) -> Call[JournalOut]:
        """A stretch of its journal."""
        return Call("GET", _path(eid, "journal"), JournalOut, params={"after": after})

    @staticmethod
    def frames(eid: UUID | str) -> Call[FramesOut]:
        """Its frames."""
        return Call("GET", _path(eid, "frames"), FramesOut)

    @staticmethod
    def explain(eid: UUID | str) -> Call[ExplanationOut]:
        """Why it stands where it stands."""
        return Call("GET", _path(eid, "explain"), ExplanationOut)

    @staticmethod
    def result(eid: UUID | str, wait_s: float) -> Call[ResultOut]:
        """Its result, if it has ended within ``wait_s``."""
        return Call("GET", _path(eid, "result"), ResultOut, params={"wait_s": wait_s}, wait_s=wait_s)

    @staticmethod
    def published(eid: UUID | str, name: str) -> Call[ShownOut]:
        """What it published last under a name."""
        return Call("GET", _path(eid, "published", quote(name, safe="")), ShownOut)

    @staticmethod
    def read_stream(eid: UUID | str, name: str, after: str | None) -> Call[StreamOut]:
        """A stretch of one of its streams."""
        params = {} if after is None else {"after": after}
        return Call("GET", _path(eid, "streams", quote(name, safe="")), StreamOut, params=params)

    @staticmethod
    def signal(eid: UUID | str, channel: str, payload: object, correlation: str | None, key: str | None) -> Call[Sent]:
        """Send a message."""
        body = {"channel": channel, "payload": payload, "correlation": correlation}
        return Call("POST", _path(eid, "signals"), Sent, body, key=key)

    @staticmethod
    def update(eid: UUID | str, name: str, payload: object, timeout_s: float, key: str | None) -> Call[Answered]:
        """Ask for something."""
        body = {"name": name, "payload": payload, "timeout_s": timeout_s}
        return Call("POST", _path(eid, "updates"), Answered, body, key=key, wait_s=timeout_s)

    @staticmethod
    def act(verb: str, eid: UUID | str, body: Mapping[str, object], key: str | None) -> Call[Written]:
        """An operator verb."""
        given = {name: value for name, value in body.items() if value is not None}
        return Call("POST", _path(eid, verb), Written, given, key=key)

    @staticmethod
    def bulk(action: str, body: Mapping[str, JsonValue], key: str | None) -> Call[BulkOut]:
        """One verb on many executions."""
        return Call("POST", "/v1/bulk", BulkOut, {"action": action, **body}, key=key, wait_s=60.0)

    @staticmethod
    def queues() -> Call[QueuePage]:
        """The queues."""
        return Call("GET", "/v1/queues", QueuePage)


def _path(eid: UUID | str, *more: str) -> str:
    return "/".join(("/v1/executions", quote(str(eid), safe=""), *more))
