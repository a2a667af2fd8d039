"""Holder tokens: what a consumer is given when it takes a task, and shows whenever it speaks of it.

A token holds what names the lease to the bucket, and a signature over it; so any process of the service can go on with
it, and none of them remembers anything. It is bound to its caller: another one cannot use it. The key of the signatures
is in the configuration, or was drawn once and is kept in the bucket, where only holders of bucket keys see it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson

from flowli import codec
from flowli.domain.ports import Ports
from flowli.domain.tasks import TaskLease
from flowli.world import World
from flowli_api.auth.identity import Identity
from flowli_api.problems import Problem

__all__ = ["Held", "Seal"]

_CLAIM = "flowli-api:token-secret"
_LONGEST = 16_384


@dataclass(frozen=True, slots=True)
class Held:
    """A task in the hands of a consumer.

    Attributes:
        lease: its task has no payload.
        reply: execution and channel that wait for the answer; None if nobody does.
        correlation: of the answer.
    """

    lease: TaskLease
    reply: tuple[str, str] | None = None
    correlation: str | None = None


class Seal:
    """Makes and opens tokens.

    Args:
        ports: where the key is kept if there is none in the configuration.
        world: draws it.
        secret: of the configuration.
    """

    def __init__(self, ports: Ports, world: World, secret: str | None) -> None:
        self._ports = ports
        self._world = world
        self._key = None if secret is None else hashlib.sha256(secret.encode()).digest()

    async def close(self, caller: Identity, kind: str, content: dict[str, Any]) -> str:
        """A token that only ``caller`` can use, for one kind of thing."""
        body = orjson.dumps({"by": caller.actor.id, "kind": kind, **content})
        return f"{_text(body)}.{_text(await self._sign(body))}"

    async def open(self, caller: Identity, kind: str, token: str) -> dict[str, Any]:
        """What a token holds.

        Raises:
            Problem: ``unknown_token``: it is none of ours, or of another kind; ``forbidden``: it is somebody else's.
        """
        try:
            body, signature = (_bytes(part) for part in token[:_LONGEST].split("."))
        except ValueError:
            raise _strange() from None
        if not hmac.compare_digest(signature, await self._sign(body)):
            raise _strange()
        found = cast("dict[str, Any]", orjson.loads(body))
        if found["kind"] != kind:
            raise _strange()
        if found["by"] != caller.actor.id:
            raise Problem("forbidden", "The token was given to somebody else.")
        return found

    async def close_task(self, caller: Identity, held: Held) -> str:
        """The token of a task."""
        lease = held.lease
        bare = replace(lease, task=replace(lease.task, payload=None, more=None))
        content = {"lease": codec.dump(bare), "reply": held.reply, "correlation": held.correlation}
        return await self.close(caller, "task", content)

    async def open_task(self, caller: Identity, token: str) -> Held:
        """The task of a token.

        Raises:
            Problem: as ``open``.
        """
        found = await self.open(caller, "task", token)
        reply = found["reply"]
        lease = codec.load(TaskLease, found["lease"])
        return Held(lease, None if reply is None else (reply[0], reply[1]), found["correlation"])

    async def _sign(self, body: bytes) -> bytes:
        if self._key is None:
            drawn = self._world.token() + self._world.token()
            kept = (await self._ports.dispatch.claim(_CLAIM, drawn)).value
            self._key = hashlib.sha256(str(kept).encode()).digest()
        return hmac.digest(self._key, body, "sha256")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("no base64") from error


def _strange() -> Problem:
    return Problem("unknown_token", "This service gave no such token.")
