"""Every error of flowli, in one tree.

::

    Exception
    └── FlowliError
        ├── UsageError                 wrong input; nothing was stored
        │   ├── InvalidName            a queue, channel, workflow, frame or key name
        │   ├── InvalidValue           a value that would not come back equal, with its path
        │   ├── PayloadTooLarge        a value over the limit, which it names
        │   ├── BadArguments           arguments that do not fit the workflow's signature
        │   ├── UnknownWorkflow        no such name or version in the registry
        │   ├── UnknownExecution       no such eid
        │   ├── UnknownFrame           no such frame in an execution
        │   ├── DuplicateFrameError    one key used twice under one parent
        │   ├── DispatchConflict       a live key was started with something else
        │   ├── NotAllowed             the execution's state forbids the verb
        │   └── NotDeterministic       workflow code used what only a step may use
        ├── Outcome                    what a workflow, or who waits for one, is told
        │   ├── StepFailed             attempts ran out, or the error was not retryable
        │   ├── ChildFailed            the child failed or was cancelled
        │   ├── ExecutionFailed        the awaited execution failed
        │   ├── ExecutionCancelled     the awaited execution was cancelled
        │   ├── UpdateRejected         the workflow refused an update
        │   └── ResultTimeout          no end was reached within the time given
        ├── NondeterminismError        a replay met another program; parks the execution
        ├── LeaseLost                  this process owns the execution or task no longer
        └── BackendError               the storage; never an outcome of a workflow
            ├── BackendUnavailable     worth trying again
            ├── BackendRefused         needs the operator (rights, missing bucket, newer layout)
            │   └── ValueUnreadable    a stored value cannot be read here (missing key or codec)
            └── OutcomeUnknown         a write whose fate could not be learnt
    StepSignal (Exception)             raised by a step to say how it ended
        ├── Retry                      try again after a delay
        ├── Defer                      try again later; uses no attempt
        └── NonRetryableError          do not try again
    BaseException
    └── ExecutionClosed                a warm coroutine is being closed; frames can no longer be made
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

__all__ = [
    "BackendError",
    "BackendRefused",
    "BackendUnavailable",
    "BadArguments",
    "Cancelled",
    "ChildFailed",
    "Defer",
    "DispatchConflict",
    "DuplicateFrameError",
    "ErrorInfo",
    "ExecutionCancelled",
    "ExecutionClosed",
    "ExecutionFailed",
    "FlowliError",
    "InvalidName",
    "InvalidValue",
    "LeaseLost",
    "NonRetryableError",
    "NondeterminismError",
    "NotAllowed",
    "NotDeterministic",
    "Outcome",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "ResultTimeout",
    "Retry",
    "StepFailed",
    "StepSignal",
    "UnknownExecution",
    "UnknownFrame",
    "UnknownWorkflow",
    "UpdateRejected",
    "UsageError",
    "ValueUnreadable",
]

Cancelled = asyncio.CancelledError
"""What a cancelled workflow sees; the very same class, so that ordinary asyncio code handles it."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as it is journaled: equal on the live run and on every replay.

    Attributes:
        type: qualified name of the class, for example ``builtins.ValueError``.
        message: ``str(error)``.
        traceback: the formatted traceback, or "".
    """

    type: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        name = self.type.removeprefix("builtins.")
        return f"{name}: {self.message}" if self.message else name


class FlowliError(Exception):
    """The root of all errors of flowli that are not step signals."""


class UsageError(FlowliError):
    """Wrong input or a wrong use of the API. Nothing was stored."""


class InvalidName(UsageError):
    """A name that cannot be part of a key."""


class InvalidValue(UsageError):
    """A value that cannot be recorded, since it would not come back equal and of equal type.

    Attributes:
        path: where in the value, for example ``args.items[3].price``.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class PayloadTooLarge(UsageError):
    """A value over a size limit. The message names the limit and the setting."""


class BadArguments(UsageError):
    """Arguments that do not fit the signature."""


class UnknownWorkflow(UsageError):
    """No workflow of that name or version is registered here."""


class UnknownExecution(UsageError):
    """No execution with that id exists in this bucket."""

    def __init__(self, eid: UUID | str) -> None:
        super().__init__(f"no execution {eid} exists in this bucket; `flowli list` shows those that do")
        self.eid = str(eid)


class UnknownFrame(UsageError):
    """The execution has no frame of that id."""


class DuplicateFrameError(UsageError):
    """One frame key was used twice under one parent."""


class DispatchConflict(UsageError):
    """A dispatch key is held by an execution of another workflow or with other arguments."""


class NotAllowed(UsageError):
    """The state of the execution forbids what was asked."""


class NotDeterministic(UsageError):
    """Workflow code called something that is different on every run; steps may, workflows may not."""


class Outcome(FlowliError):
    """Something that ran has ended otherwise than by returning."""


class StepFailed(Outcome):
    """A step failed for good: its attempts ran out or its error was not retryable.

    Attributes:
        fid: the frame.
        attempts: how many attempts were made.
        error: the last error.
    """

    def __init__(self, fid: str, attempts: int, error: ErrorInfo) -> None:
        plural = "" if attempts == 1 else "s"
        super().__init__(f"step {fid} failed after {attempts} attempt{plural}: {error}")
        self.fid = fid
        self.attempts = attempts
        self.error = error


class ChildFailed(Outcome):
    """A child execution failed or was cancelled.

    Attributes:
        eid: the child.
        error: what ended it.
    """

    def __init__(self, fid: str, eid: UUID, error: ErrorInfo) -> None:
        super().__init__(f"child {fid} ({eid}) ended without a result: {error}")
        self.fid = fid
        self.eid = eid
        self.error = error


class ExecutionFailed(Outcome):
    """The execution that was waited for failed.

    Attributes:
        eid: the execution.
        error: what its function raised.
    """

    def __init__(self, eid: UUID, error: ErrorInfo) -> None:
        super().__init__(f"execution {eid} failed: {error}")
        self.eid = eid
        self.error = error


class ExecutionCancelled(Outcome):
    """The execution that was waited for was cancelled."""

    def __init__(self, eid: UUID, reason: str) -> None:
        super().__init__(f"execution {eid} was cancelled" + (f": {reason}" if reason else ""))
        self.eid = eid
        self.reason = reason


class UpdateRejected(Outcome):
    """The workflow refused an update, or failed to deal with it.

    Attributes:
        eid: the execution.
        error: what its validator or its handler raised.
    """

    def __init__(self, eid: UUID, name: str, error: ErrorInfo) -> None:
        super().__init__(f"execution {eid} refused the update '{name}': {error}")
        self.eid = eid
        self.error = error


class ResultTimeout(Outcome):
    """The execution reached no end within the time given; it goes on."""


class NondeterminismError(FlowliError):
    """A replay issued another command than the journal records. The execution is parked, never failed.

    Attributes:
        seq: journal sequence number of the first difference.
        expected: what the journal records there.
        found: what the code did instead.
    """

    def __init__(self, seq: int, expected: str, found: str) -> None:
        super().__init__(
            f"the code no longer matches the journal at entry {seq}: the journal has {expected}, the code made "
            f"{found}; deploy the code that fits, or use `flowli migrate` or `flowli cancel`"
        )
        self.seq = seq
        self.expected = expected
        self.found = found


class LeaseLost(FlowliError):
    """This process is no longer the owner. It stops at once, writes nothing more and does not ack."""


class BackendError(FlowliError):
    """The storage refused, failed or could not be reached. Never recorded as an outcome of a workflow."""


class BackendUnavailable(BackendError):
    """Nothing was written and a later try may succeed."""


class BackendRefused(BackendError):
    """Nothing was written and only the operator can help."""


class ValueUnreadable(BackendRefused):
    """A stored value cannot be read by this process: a key or a codec is missing, or the value was changed or moved.

    The value stands as it was; a process that has what is missing reads it.
    """


class OutcomeUnknown(BackendError):
    """A write was sent and its fate could not be learnt; asking again with the same key is safe."""


class StepSignal(Exception):
    """Raised by a step to say how the engine should go on."""


class Retry(StepSignal):
    """The attempt failed; try again ``after`` this delay instead of the policy's.

    Args:
        message: why.
        after: the delay; None leaves it to the policy.
    """

    def __init__(self, message: str = "", *, after: timedelta | float | None = None) -> None:
        super().__init__(message)
        self.after = timedelta(seconds=after) if isinstance(after, int | float) else after


class Defer(StepSignal):
    """Not now: run the step again at ``until`` or after a delay. No attempt is used.

    Args:
        until: an aware datetime, or a delay (seconds or timedelta).
    """

    def __init__(self, message: str = "", *, until: datetime | timedelta | float) -> None:
        super().__init__(message)
        if isinstance(until, datetime) and until.tzinfo is None:
            raise UsageError(f"Defer(until={until}) has no time zone; give an aware datetime, or a delay")
        self.until = timedelta(seconds=until) if isinstance(until, int | float) else until


class NonRetryableError(StepSignal):
    """The attempt failed and no further one may be made, whatever the policy says."""


class ExecutionClosed(BaseException):
    """The coroutine is being dropped from memory. Not an outcome: the execution goes on elsewhere."""
