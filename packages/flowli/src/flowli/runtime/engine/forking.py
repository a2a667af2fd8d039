"""Making a new execution of a finished one: ``fork``, ``retry``, ``replay``."""

from __future__ import annotations

import difflib

from flowli.domain.data import Data
from flowli.domain.entries import ExecutionFailed
from flowli.domain.errors import NotAllowed, UnknownFrame
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import Frame
from flowli.domain.provenance import Actor
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.operating import OperatorVerbs
from flowli.runtime.insight.culprit import culprit
from flowli.runtime.protocols.fork import Asked, fork, replay
from flowli.runtime.protocols.receipt import first_call
from flowli.runtime.protocols.standing import Standing, read_standing

__all__ = ["ForkVerbs"]


class ForkVerbs(OperatorVerbs):
    """``fork``, ``retry``, ``replay``."""

    async def fork(
        self,
        eid: Eid | str,
        from_fid: Fid,
        reason: str = "",
        *,
        allow_irreversible: bool = False,
        key: str | None = None,
        actor: Actor | None = None,
    ) -> Eid:
        """Start a new execution that goes on from a frame of a finished one; returns its id.

        All outcomes that came before that of the frame are copied; the frame itself and what follows is done again,
        with the code that is there now. It runs the version of its source. Messages that the source did not consume
        are not taken over: they were sent to it.

        Args:
            eid: the source. It must have ended; it may be archived.
            from_fid: the frame, for example ``root/charge#1``.
            reason: why, for people.
            allow_irreversible: steps marked irreversible that have completed may be run again.
            key: the same fork with the same key is one execution; None for a new one.
            actor: who asks; this process if None.

        Raises:
            UnknownExecution: no such execution.
            UnknownFrame: it has no such frame; near matches are named.
            NotAllowed: it has not ended, was erased, or an irreversible step would be run again.
            DispatchConflict: the key was used for something else.
        """
        source = await self._source(eid, "forked")
        frame = _frame(source, from_fid)
        return await self._make("fork", source, frame, reason, allow_irreversible, key, actor)

    async def retry(
        self,
        eid: Eid | str,
        reason: str = "",
        *,
        allow_irreversible: bool = False,
        key: str | None = None,
        actor: Actor | None = None,
    ) -> Eid:
        """Fork a failed execution from the frame whose failure it failed with; returns the new id.

        If it failed with an error of its own code, all outcomes are copied and the code goes on from there. Arguments
        and errors are those of ``fork``.

        Raises:
            NotAllowed: it has not failed.
        """
        source = await self._source(eid, "retried")
        end = source.fold.end
        if not isinstance(end, ExecutionFailed):
            raise NotAllowed(
                f"execution {source.execution.eid} is {source.fold.status} and cannot be retried; use replay, or fork "
                "with the frame to go on from"
            )
        return await self._make(
            "retry", source, culprit(source.execution.eid, source.fold, end), reason, allow_irreversible, key, actor
        )

    async def replay(
        self,
        eid: Eid | str,
        reason: str = "",
        *,
        version: str | None = None,
        allow_irreversible: bool = False,
        key: str | None = None,
        actor: Actor | None = None,
    ) -> Eid:
        """Start a new execution with the input of a finished one; returns its id. Nothing else is taken over.

        Arguments and errors are those of ``fork``.

        Args: version: of the workflow; that of the source if None.

        Raises:
            UnknownWorkflow: the workflow is known here and has no such version.
        """
        source = await self._source(eid, "replayed")
        name = source.execution.workflow
        if version is not None and self.registry.find(name) is not None:
            self.registry.get(name, version)
        wanted = version or source.fold.version or source.execution.version
        asked = await self._asked("replay", source, {"version": wanted}, reason, allow_irreversible, key, actor)
        made = await replay(self.services, source, wanted, asked)
        await self._acted("replay", source.execution.eid, reason, key, self._by(actor), version=version)
        return made.eid

    async def _make(
        self,
        verb: str,
        source: Standing,
        frame: Frame | None,
        reason: str,
        allow_irreversible: bool,
        key: str | None,
        actor: Actor | None,
    ) -> Eid:
        fid = None if frame is None else frame.fid
        asked = await self._asked(verb, source, {"fid": fid}, reason, allow_irreversible, key, actor)
        made = await fork(self.services, source, frame, asked)
        await self._acted(verb, source.execution.eid, reason, key, self._by(actor), fid=fid)
        return made.eid

    async def _source(self, eid: Eid | str, verb: str) -> Standing:
        source = await read_standing(self.ports, as_eid(eid))
        if not source.ended:
            raise NotAllowed(
                f"execution {eid} is {source.fold.status} and can be {verb} only when it has ended; cancel or "
                "terminate it first"
            )
        if source.fold.erased:
            raise NotAllowed(f"execution {eid} was erased and cannot be {verb}: its values are gone")
        return source

    async def _asked(
        self,
        verb: str,
        source: Standing,
        content: dict[str, Data],
        reason: str,
        allow_irreversible: bool,
        key: str | None,
        actor: Actor | None,
    ) -> Asked:
        eid, request, by = self._request(source.execution.eid, key, actor)
        whole: dict[str, Data] = {**content, "reason": reason, "allow_irreversible": allow_irreversible}
        first = await first_call(self.ports, eid, key, verb, whole, by, fold=source.fold)
        return Asked(verb, request, first, allow_irreversible)


def _frame(source: Standing, fid: Fid) -> Frame:
    frames = source.fold.frames
    if fid not in frames:
        near = difflib.get_close_matches(fid, frames, n=3)
        hint = "did you mean " + " or ".join(f"'{match}'" for match in near) + "?" if near else _some(list(frames))
        raise UnknownFrame(f"execution {source.execution.eid} has no frame '{fid}': {hint}")
    return frames[fid]


def _some(fids: list[Fid]) -> str:
    if not fids:
        return "it has none at all; use replay"
    return "it has " + ", ".join(f"'{fid}'" for fid in fids[:5]) + (", ..." if len(fids) > 5 else "")
