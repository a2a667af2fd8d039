"""``RemotePlane``: evidence, records and scopes through the worker plane of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import httpx
import structlog

from flowli.domain.delegate import Delegate
from flowli.domain.errors import BackendError, BackendRefused, BackendUnavailable, LeaseLost
from flowli_api.client.errors import ApiError
from flowli_api.client.plane import WorkerPlane
from flowli_runner.contracts import to_data
from flowli_runner.remote.held import HeldToken, HeldTokens
from flowli_runner.work.records import Record, Records, record_of
from flowli_runner.work.scopes import TTL_S, HeldScope, Scopes

__all__ = ["RemotePlane", "Tokens"]

_log = structlog.get_logger("flowli.runner")


class Tokens(Protocol):
    """The consumer, as far as it is needed here."""

    def token(self, task_id: str) -> str:
        """Of a task that is worked on."""

    def wanted(self, task_id: str) -> bool:
        """Whether somebody could receive its answer."""


class RemotePlane:
    """Through a service.

    Args:
        calls: of the worker plane.
        held: where tokens are written down.

    Attributes:
        consumer: gives the tokens of tasks; set before the first task is taken.
    """

    consumer: Tokens

    def __init__(self, calls: WorkerPlane, held: HeldTokens) -> None:
        self._calls, self._held = calls, held
        self.records: Records = _RemoteRecords(self, calls, held)
        self.scopes: Scopes = _RemoteScopes(calls, held)

    async def begin(self, delegate: Delegate) -> None:
        self._held.keep(HeldToken("task", delegate.task_id, self.consumer.token(delegate.task_id)))

    async def done(self, delegate: Delegate) -> None:
        self._held.forget("task", delegate.task_id)

    async def keep(self, delegate: Delegate, what: str, body: bytes, media_type: str) -> str:
        with _told():
            return await self._calls.keep(self.consumer.token(delegate.task_id), what, body, media_type)

    async def wanted(self, delegate: Delegate) -> bool:
        return self.consumer.wanted(delegate.task_id)

    async def stands(self, task_id: str, eid: str) -> bool:
        token = self._held.find("state", task_id)
        if not token:
            return False  # the state was cleared: the work is done
        with _told():
            return (await self._calls.look_at_state(token)).standing

    async def recover(self) -> None:
        for one in list(self._held.of_the_dead()):
            try:
                with _told():
                    if one.kind == "task":
                        await self._calls.give_back(one.token)
                    elif one.kind == "scope":
                        await self._calls.release_scope(one.name, one.token)
                    elif await self._is_needed(one.token):
                        continue  # it is cleared with the folders of its attempts
            except LeaseLost:
                pass  # somebody else has it already
            except BackendError as error:
                _log.warning("what a dead runner held is free only later", what=one.name, error=str(error))
            self._held.forget(one.kind, one.name)

    async def _is_needed(self, token: str) -> bool:
        """Whether a state says anything, or may yet."""
        found = await self._calls.look_at_state(token)
        if found.standing or (found.held and found.state):
            return True
        await self._calls.clear_state(token)
        return False


class _RemoteRecords:
    """Records in the states of tasks."""

    def __init__(self, plane: RemotePlane, calls: WorkerPlane, held: HeldTokens) -> None:
        self._plane, self._calls, self._held = plane, calls, held
        self._tokens: dict[str, str] = {}

    async def take(self, task_id: str) -> Record | None:
        with _told():
            found = await self._calls.take_state(self._plane.consumer.token(task_id))
        self._tokens[task_id] = found.token
        self._held.keep(HeldToken("state", task_id, found.token))
        return record_of(found.state)

    async def write(self, task_id: str, record: Record) -> None:
        with _told():
            await self._calls.write_state(self._tokens[task_id], to_data(record))

    async def read(self, task_id: str) -> Record | None:
        token = self._held.find("state", task_id)
        if not token:
            return None
        with _told():
            return record_of((await self._calls.look_at_state(token)).state)

    async def mine(self, task_id: str) -> bool:
        with _told():
            return task_id in self._tokens and (await self._calls.look_at_state(self._tokens[task_id])).held

    async def clear(self, task_id: str) -> None:
        token = self._tokens.pop(task_id, "") or self._held.find("state", task_id)
        if token:
            with _told():
                await self._calls.clear_state(token)
        self._held.forget("state", task_id)


class _RemoteScopes:
    """Scopes of the queue; their names are those that a runner at the bucket gives them."""

    def __init__(self, calls: WorkerPlane, held: HeldTokens) -> None:
        self._calls, self._held = calls, held

    async def take(self, name: str, holder_id: str) -> HeldScope | str:
        scope = name.removeprefix("scope:")
        try:
            with _told():
                got = await self._calls.acquire_scope(scope, TTL_S)
        except _Held:
            return "somebody else"
        self._held.keep(HeldToken("scope", scope, got.token))
        return _RemoteScope(self._calls, self._held, scope, got.token)


@dataclass
class _RemoteScope:
    calls: WorkerPlane
    held: HeldTokens
    scope: str
    token: str

    async def renew(self) -> None:
        with _told():
            self.token = (await self.calls.renew_scope(self.scope, self.token)).token

    async def release(self) -> None:
        with _told():
            await self.calls.release_scope(self.scope, self.token)
        if self.held.find("scope", self.scope):
            self.held.forget("scope", self.scope)


class _Held(BackendRefused):
    """Somebody else holds it."""


@contextmanager
def _told() -> Iterator[None]:
    """The problems of a service as the errors of a port."""
    try:
        yield
    except httpx.TransportError as error:
        raise BackendUnavailable(f"the service cannot be reached: {error}") from error
    except ApiError as error:
        if error.code == "lease_lost":
            raise LeaseLost(str(error)) from error
        if error.code == "held":
            raise _Held(str(error)) from error
        if error.problem.status >= 500 or error.code == "rate_limited":
            raise BackendUnavailable(str(error)) from error
        raise BackendRefused(str(error)) from error
