"""What every part of the context needs: the execution, its time and chance, and the making of frames."""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID, uuid5

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.domain.frames import FrameKind
from flowli.domain.ids import ROOT, Eid, Fid, check_name
from flowli.domain.provenance import Actor
from flowli.runtime.replay.calls import FrameCall

if TYPE_CHECKING:
    from flowli.runtime.effects import Effects
    from flowli.runtime.replay.session import Session

__all__ = ["ContextBase", "Seconds", "as_is", "frame_key", "nothing", "seconds"]

Seconds: TypeAlias = float | timedelta

_ID_BYTES = 36

_scope: contextvars.ContextVar[Fid] = contextvars.ContextVar("flowli_scope", default=ROOT)


class ContextBase:
    """The execution, its time and its chance."""

    def __init__(self, session: Session, effects: Effects) -> None:
        self._session = session
        self._effects = effects
        origin = session.execution.origin
        lineage = (*(origin.lineage if origin is not None else ()), session.execution.eid)
        self._seed = lineage[0]
        self._own_ids = tuple(str(eid).encode() for eid in lineage)
        self._random: random.Random | None = None
        self._uuids = 0
        self._numbers: dict[str, int] = {}
        self._facts: dict[Callable[..., Any], tuple[str, Any, Callable[[Data], Any]]] = {}

    @property
    def eid(self) -> Eid:
        """The id of this execution."""
        return self._session.execution.eid

    @property
    def started_by(self) -> Actor:
        """Who started this execution; of a child: the worker that ran its parent; of a fork: who forked it."""
        return self._session.execution.created_by.actor

    @property
    def now(self) -> datetime:
        """The present, in UTC: the instant of the last outcome that this code was given. Equal on every replay."""
        return self._session.now.to_datetime()

    @property
    def random(self) -> random.Random:
        """Random numbers that are the same on every replay. Not for secrets."""
        if self._random is None:
            self._random = random.Random(self._seed.int)
        return self._random

    def uuid(self) -> UUID:
        """A new id, the same on every replay; drawing random numbers does not shift it."""
        self._uuids += 1
        return uuid5(self._seed, f"uuid/{self._uuids}")

    @property
    def log(self) -> structlog.typing.FilteringBoundLogger:
        """A logger that speaks once: what is logged while the journal is replayed is dropped."""
        logger: structlog.typing.FilteringBoundLogger = self._effects.logger(self._session.replaying)
        return logger

    def patched(self, change_id: str) -> bool:
        """Whether this execution takes the new path of a change in the code.

        True for executions that come here first with the new code, false for those whose journal is already past it.
        """
        return self._session.patched(check_name("change id", change_id))

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[Fid]:
        """Frames made inside stand under a node of their own, so that a pattern's frames do not shift others'
        numbers. Gives the path of that node, which is unique in the execution.
        """
        node = self._session.scope(_scope.get(), check_name("scope", name))
        token = _scope.set(node)
        try:
            yield node
        finally:
            # whoever drops the coroutine may do so from another context, where there is no scope to leave
            with contextlib.suppress(ValueError):
                _scope.reset(token)

    def _call(
        self,
        kind: FrameKind,
        name: str,
        about: Data,
        action: Any,
        decode: Callable[[Data], Any],
        key: str | None,
        metadata: dict[str, Data],
    ) -> FrameCall[Any]:
        frame = self._session.make(
            _scope.get(), kind, name, self._digest(about), action, decode, key=frame_key(key), metadata=metadata
        )
        return FrameCall(self._session, frame)

    def _digest(self, about: Data) -> str:
        """The digest of a frame's arguments. This execution's own id in them counts as one and the same for all, so
        that the frames of a fork, which has another id than its source, are the same frames.
        """
        text = codec.canonical(about)
        if len(text) >= _ID_BYTES:
            for own in self._own_ids:
                text = text.replace(own, b"{eid}")
        return hashlib.sha256(text).hexdigest()

    def _effect(
        self,
        name: str,
        about: Data,
        action: Any,
        decode: Callable[[Data], Any],
        metadata: dict[str, Data] | None = None,
    ) -> FrameCall[Any]:
        return self._call(FrameKind.EFFECT, name, about, action, decode, None, metadata or {})

    @property
    def _parent(self) -> Fid:
        """The node under which frames are made now."""
        return _scope.get()


def frame_key(key: str | None) -> str | None:
    """The key of a frame, checked."""
    return None if key is None else check_name("key", key)


def seconds(what: str, delay: Seconds | None) -> float | None:
    """A delay in seconds, checked; ``what`` names it in the error."""
    if delay is None:
        return None
    given = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    if not 0 <= given < 1e11:
        raise UsageError(f"{what} of {given} seconds is not possible; give at least 0 and less than 3,000 years")
    return given


def as_is(data: Data) -> Any:
    """The memo itself."""
    return data


def nothing(data: Data) -> None:
    """None, whatever the memo is."""
