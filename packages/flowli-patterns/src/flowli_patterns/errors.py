"""Every error of the patterns, in one tree.

::

    FlowliError
    ├── UsageError
    │   ├── UnknownVerdict         the verdict is none of those that the review takes
    │   ├── UnknownReview          no such review in this bucket
    │   ├── UnknownSchedule        no such schedule in this bucket
    │   ├── FormRefused            the form of a decision has not the fields that it must have
    │   └── NotAllowed
    │       ├── NotADecider        this person may not decide this review
    │       ├── ReviewDecided      somebody was first; holds the decision that stands
    │       ├── ReviewExpired      its deadline has passed
    │       └── ReviewClosed       the workflow no longer waits for it
    └── Outcome
        ├── DelegateFailed         the consumer answered with a failure
        ├── DelegateTimeout        no answer came in time
        ├── FanOutFailed           some items failed; holds all results and all errors
        └── CompensationFailed     a saga could not be undone; names what was and what was not
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from flowli.domain.errors import ErrorInfo, NotAllowed, Outcome, UsageError

if TYPE_CHECKING:
    from flowli_patterns.review.model import Decision

__all__ = [
    "AlreadyVoted",
    "CompensationFailed",
    "DelegateFailed",
    "DelegateTimeout",
    "FanOutFailed",
    "FormRefused",
    "NotADecider",
    "ReviewClosed",
    "ReviewDecided",
    "ReviewExpired",
    "UnknownReview",
    "UnknownSchedule",
    "UnknownVerdict",
]


class UnknownVerdict(UsageError):
    """The verdict is none of those that the review takes."""


class UnknownReview(UsageError):
    """No review of that id was opened in this bucket."""


class UnknownSchedule(UsageError):
    """No schedule of that id is defined in this bucket."""

    @classmethod
    def of(cls, name: str, known: Iterable[str]) -> UnknownSchedule:
        """The error for ``name``, naming near ones."""
        near = get_close_matches(name, list(known), n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`flowli schedules list` shows what exists"
        return cls(f"there is no schedule '{name}'; {hint}")


class FormRefused(UsageError):
    """The form of a decision has not the fields that the review asks for."""


class NotADecider(NotAllowed):
    """This person may not decide this review."""


class AlreadyVoted(NotAllowed):
    """This person has voted on the review, and otherwise; a vote is not changed."""


class ReviewDecided(NotAllowed):
    """The review is decided, and otherwise.

    Attributes:
        decision: the one that stands.
    """

    def __init__(self, message: str, decision: Decision[Any]) -> None:
        super().__init__(message)
        self.decision = decision


class ReviewExpired(NotAllowed):
    """The deadline of the review has passed without a decision."""


class ReviewClosed(NotAllowed):
    """The workflow no longer waits for the review: it was cancelled, or it has ended."""


class DelegateFailed(Outcome):
    """The consumer answered that the work failed, or its answer has another form than was asked for.

    Attributes:
        queue: where the work was put.
        task_id: of the task.
        error: what the consumer's handler raised.
    """

    def __init__(self, queue: str, task_id: str, error: ErrorInfo) -> None:
        super().__init__(f"the work delegated to queue '{queue}' ({task_id}) failed: {error}")
        self.queue = queue
        self.task_id = task_id
        self.error = error


class DelegateTimeout(Outcome):
    """No answer came in time.

    Attributes:
        queue: where the work was put.
        task_id: of the task.
        withdrawn: the task was taken back before anybody took it, so that the work is not done. Otherwise a consumer
            holds it and may still do it, or a worker died while it was withdrawing; an answer is not read.
    """

    def __init__(self, queue: str, task_id: str, withdrawn: bool) -> None:
        what = "nobody had taken it, and it was withdrawn" if withdrawn else "a consumer holds it and may still do it"
        super().__init__(f"the work delegated to queue '{queue}' ({task_id}) was not answered in time; {what}")
        self.queue = queue
        self.task_id = task_id
        self.withdrawn = withdrawn


class FanOutFailed(Outcome):
    """Some items of a fan-out failed; all were tried.

    Attributes:
        results: of the items that went well, by their place.
        errors: of the others, by their place.
    """

    def __init__(self, results: Mapping[int, object], errors: Mapping[int, Exception]) -> None:
        first = min(errors)
        count = len(results) + len(errors)
        super().__init__(f"{len(errors)} of {count} items failed; the first is item {first}: {errors[first]}")
        self.results = dict(sorted(results.items()))
        self.errors = dict(sorted(errors.items()))


class CompensationFailed(Outcome):
    """A saga could not be undone: its effects stand in part. Somebody has to look.

    Attributes:
        failed: the undo steps that failed, with their errors.
        undone: the actions that were undone.
        left: the actions whose undo was not tried, since an earlier one had failed.
    """

    def __init__(
        self, cause: BaseException, failed: Mapping[str, Exception], undone: Sequence[str], left: Sequence[str]
    ) -> None:
        names = "; ".join(f"undo of '{name}' failed: {error}" for name, error in failed.items())
        rest = f"; not tried: {', '.join(left)}" if left else ""
        done = f"; undone: {', '.join(undone)}" if undone else ""
        why = str(cause) or type(cause).__name__
        super().__init__(f"compensation failed: {names}{rest}{done}; the saga was undone because of: {why}")
        self.failed = dict(failed)
        self.undone = tuple(undone)
        self.left = tuple(left)
