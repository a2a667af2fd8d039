"""``Finding``: something in the bucket that does not hold, with the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from flowli.domain.data import Data

__all__ = ["CHECKS", "Finding", "Repair", "found"]


class Repair(StrEnum):
    """What ``--repair`` does about a finding. Each may be done twice, and beside processes that run."""

    NONE = ""
    ANNOUNCE = "post what the control log lacks"
    RECORD = "write the record that execution.started repeats"
    START = "put its START"
    RESUME = "put a RESUME, so that a worker looks at it"
    TIMER = "set its timer"
    UNMARK = "remove the marker"
    WITHDRAW = "withdraw the task"
    SEGMENT = "delete the segment, which is only a cache"


CHECKS: dict[str, tuple[str, Repair]] = {
    "key": ("every key is one of the key layout", Repair.NONE),
    "readable": ("every object can be read by this release", Repair.NONE),
    "log-dense": ("the commits of a log are numbered without a gap", Repair.NONE),
    "log-sequence": ("the entries of a log are numbered without a gap", Repair.NONE),
    "log-epoch": ("epochs never go down along a journal", Repair.NONE),
    "segment": ("a segment holds the commits that it stands for", Repair.SEGMENT),
    "journal": ("a journal is one history: one end, at its end; no outcome without a start", Repair.NONE),
    "owner": ("entries of one owner only count in an epoch", Repair.NONE),
    "record": ("an execution with a journal has its record or its archive", Repair.RECORD),
    "same": ("record, journal and archive say the same of an execution", Repair.NONE),
    "announced": ("the control log says of an execution what its journal says", Repair.ANNOUNCE),
    "start": ("an execution that has not begun has a START", Repair.START),
    "owned": ("an execution that is running has an owner, or a task that leads to one", Repair.RESUME),
    "woken": ("an execution whose wait is over has a task that wakes it", Repair.RESUME),
    "marker": ("an execution that waits on a channel has its marker there", Repair.RESUME),
    "timer": ("an execution that waits for an instant has its timer", Repair.TIMER),
    "marker-left": ("a marker stands only while its execution waits", Repair.UNMARK),
    "task-left": ("an execution that has ended has no task", Repair.WITHDRAW),
    "claimed": ("a dispatch key leads to an execution", Repair.NONE),
}
"""What is verified, by name, and what can be done."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that does not hold.

    Attributes:
        check: its name in ``CHECKS``.
        subject: the execution, log or key.
        problem: one sentence.
        evidence: keys and sequence numbers.
        advice: what to do if it is not repaired.
    """

    check: str
    subject: str
    problem: str
    evidence: tuple[str, ...] = ()
    advice: str = ""

    @property
    def repair(self) -> Repair:
        """What ``--repair`` does about it."""
        return CHECKS[self.check][1]

    def to_data(self, *, repaired: bool) -> dict[str, Data]:
        """For ``--json``."""
        return {
            "check": self.check,
            "subject": self.subject,
            "problem": self.problem,
            "evidence": list(self.evidence),
            "repair": str(self.repair) or None,
            "repaired": repaired,
            "advice": self.advice or None,
        }


def found(check: str, subject: object, problem: str, evidence: Iterable[str] = (), advice: str = "") -> Finding:
    """A finding of a check that exists."""
    assert check in CHECKS
    return Finding(check, str(subject), problem, tuple(evidence), advice)
