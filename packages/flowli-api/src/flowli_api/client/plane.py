"""``WorkerPlane``: what a consumer may do through a service beside taking and answering tasks.

Everything is said by the token of a task, of its state, or of a scope; tokens may be written down and used by the same
caller after a restart.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, JsonValue

from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.calls import Call
from flowli_api.client.upload import Upload
from flowli_api.dto.tasks import EvidenceWritten, HeldOut, ScopeOut, StateCleared, StateOut
from flowli_api.routes.scopes import ReleasedOut

__all__ = ["PART_BYTES", "WorkerPlane"]

_M = TypeVar("_M", bound=BaseModel)

PART_BYTES = 524_288
"""Larger bodies are sent in parts of this size: proxies too have limits."""


class WorkerPlane:
    """Calls of the worker plane.

    Args:
        client: of the service; its token holds ``tasks:consume:{queue}``.
        queue: where the tasks are taken from.

    Every call raises ``ApiError`` if the service answers with a problem (``lease_lost`` among them), and
    ``httpx.TransportError`` if it cannot be reached.
    """

    def __init__(self, client: AsyncClient, queue: str) -> None:
        self._client, self._queue = client, queue

    async def keep(self, token: str, what: str, body: bytes, media_type: str = "application/octet-stream") -> str:
        """Keep a body beside the execution of a task; returns the name under which it stands.

        Args:
            token: of the task.
            what: the last part of the name.
        """
        cuts = [body[at : at + PART_BYTES] for at in range(0, len(body), PART_BYTES)] or [b""]
        name = ""
        for number, cut in enumerate(cuts, 1):
            params = {"what": what, "part": number, "parts": len(cuts)}
            headers = {"flowli-task": token}
            call = Upload(
                "POST",
                "/v1/tasks/evidence",
                EvidenceWritten,
                params=params,
                content=cut,
                media_type=media_type,
                headers=headers,
            )
            name = (await self._client.send(call)).name
        return name

    async def take_state(self, token: str) -> StateOut:
        """What the last consumer left of a task; ``token`` is that of the task, the answer's that of the state."""
        return await self._post("/v1/tasks/state/take", StateOut, {"token": token})

    async def write_state(self, token: str, state: JsonValue) -> StateOut:
        """Replace the state; go on with the token of the answer."""
        return await self._post("/v1/tasks/state", StateOut, {"token": token, "state": state})

    async def look_at_state(self, token: str) -> StateOut:
        """The state as it stands now, whoever has it."""
        return await self._post("/v1/tasks/state/look", StateOut, {"token": token})

    async def clear_state(self, token: str) -> None:
        """Remove the state, unless somebody else has taken it."""
        await self._post("/v1/tasks/state/clear", StateCleared, {"token": token})

    async def give_back(self, token: str, delay_s: float = 0.0) -> None:
        """Give a task back, which can be taken again after ``delay_s``."""
        await self._post("/v1/tasks/nack", HeldOut, {"token": token, "delay_s": delay_s})

    async def acquire_scope(self, scope: str, ttl_s: float) -> ScopeOut:
        """Take a scope; the problem is ``held`` while somebody else has it."""
        return await self._post(self._scope(scope, "acquire"), ScopeOut, {"ttl_s": ttl_s}, repeatable=False)

    async def renew_scope(self, scope: str, token: str) -> ScopeOut:
        """Show that the holder of a scope lives; go on with the token of the answer."""
        return await self._post(self._scope(scope, "renew"), ScopeOut, {"token": token})

    async def release_scope(self, scope: str, token: str) -> None:
        """Let a scope go; no error if it was lost."""
        await self._post(self._scope(scope, "release"), ReleasedOut, {"token": token})

    def _scope(self, scope: str, verb: str) -> str:
        return f"/v1/queues/{self._queue}/scopes/{scope}/{verb}"

    async def _post(self, path: str, model: type[_M], body: dict[str, JsonValue], *, repeatable: bool = True) -> _M:
        return await self._client.send(Call("POST", path, model, body, repeatable=repeatable))
