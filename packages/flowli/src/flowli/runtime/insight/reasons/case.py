"""``Case``: an inspection, and the words in which reasons are told."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from flowli import codec
from flowli.domain.errors import ErrorInfo
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import Frame
from flowli.domain.provenance import Actor
from flowli.runtime.insight import places
from flowli.runtime.insight.explanation import Explanation, Moves, NextAction, Pointers
from flowli.runtime.insight.inspection import Inspection
from flowli.runtime.insight.reasons.names import Reason
from flowli.timestamp import Timestamp

__all__ = ["Case", "act", "actor", "counted", "said", "told_progress", "when", "whole"]


def act(text: str, *words: object, fill: Iterable[str] = ()) -> NextAction:
    """An action: what it does, and the words of its command line after ``flowli``."""
    return NextAction(text, shlex.join(["flowli", *map(str, words)]), tuple(fill))


def when(at: Timestamp) -> str:
    """An instant to the second, as in every answer."""
    return f"{str(at)[:19]}Z"


def actor(who: Actor) -> str:
    """Who acted."""
    return f"{who.kind} {who.id}" + (f" on behalf of {who.on_behalf_of}" if who.on_behalf_of else "")


def whole(sentence: str) -> str:
    """A sentence with its capital and its full stop."""
    return sentence[:1].upper() + sentence[1:].rstrip(".") + "."


def said(error: ErrorInfo | None) -> str:
    """An error on one line, its class without the module."""
    if error is None:
        return "no error is recorded"
    name = error.type.rpartition(".")[2]
    return " ".join(f"{name}: {error.message}".split()) if error.message else name


def counted(number: int, thing: str) -> str:
    """``1 timer``, ``3 timers``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


@dataclass(frozen=True, slots=True)
class Case:
    """One execution to be explained."""

    seen: Inspection

    @property
    def eid(self) -> Eid:
        """The execution."""
        return self.seen.eid

    @property
    def what(self) -> str:
        """The workflow and its version."""
        return f"workflow '{self.seen.execution.workflow}' version '{self.seen.version}'"

    def is_because(
        self,
        reason: Reason,
        sentence: str,
        moves: Moves,
        *actions: NextAction,
        journal: Iterable[int | None] = (),
        keys: Iterable[str] = (),
        details: Iterable[str] = (),
    ) -> Explanation:
        """The explanation with this reason."""
        seqs = tuple(sorted({seq for seq in journal if seq}))
        pointers = Pointers(seqs, tuple(dict.fromkeys(keys)))
        return Explanation(self.eid, str(reason), whole(sentence), moves, actions, pointers, tuple(details))

    @property
    def lease_key(self) -> str:
        """The key of the lease, as evidence; empty if there is none."""
        return places.lease(self.eid)

    @property
    def owner(self) -> str:
        """Who holds the lease, for people."""
        lease = self.seen.lease
        if lease is None or lease.holder is None:
            return "nobody"
        site = lease.holder.site
        return f"worker {site.worker_id}" + (f" on {site.host} (pid {site.pid})" if site.host else "")

    def attempt_seq(self, frame: Frame) -> int:
        """Sequence number of the entry that began the last attempt of a frame."""
        seqs = [
            entry.seq
            for entry in self.seen.entries
            if entry.body.tag == "frame.started" and getattr(entry.body, "fid", None) == frame.fid
        ]
        return seqs[-1] if seqs else frame.started_seq


def told_progress(case: Case, fids: Iterable[Fid]) -> tuple[str, ...]:
    """What steps have said of their progress, one sentence each."""
    shown = [case.seen.progress[fid] for fid in fids if fid in case.seen.progress]
    return tuple(
        f"Step {one.fid} said at {when(one.at)} in attempt {one.attempt}: {codec.canonical(one.value).decode()}"
        for one in shown
    )
