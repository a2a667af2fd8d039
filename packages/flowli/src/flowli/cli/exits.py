"""Exit codes, and how an error becomes one sentence and one of them.

``docs/reference/cli.md`` prints this table; a test compares the two.
"""

from __future__ import annotations

from enum import IntEnum
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MEANING", "CommandFailed", "ExitCode", "translate"]


class ExitCode(IntEnum):
    """What ``flowli`` exits with."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    STORAGE = 3
    TIMEOUT = 4
    FAULT = 70
    INTERRUPTED = 130


MEANING: dict[ExitCode, str] = {
    ExitCode.DONE: "done",
    ExitCode.REFUSED: "refused, or an unknown id; the execution that was waited for failed or was cancelled",
    ExitCode.USAGE: "wrong usage: options, names, arguments, values, an application or a plugin that does not load",
    ExitCode.STORAGE: "the storage: missing, unwritable, unreachable or of a newer layout",
    ExitCode.TIMEOUT: "timed out waiting; the execution goes on",
    ExitCode.FAULT: "a fault of flowli itself; the traceback is printed",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
}


class CommandFailed(click.ClickException):
    """Ends the command with one sentence on standard error.

    Args:
        message: the sentence: what is the case, then what to do.
        code: the exit code.
        kind: name of the error for scripts.
    """

    def __init__(self, message: str, code: ExitCode, kind: str = "") -> None:
        super().__init__(message)
        self.exit_code = int(code)  # type: ignore[misc]
        self.kind = kind or code.name.lower()
        self.as_json = False

    def show(self, file: IO[str] | None = None) -> None:
        """Print the sentence, or a JSON object where ``--json`` asks for one."""
        if self.as_json:
            import json

            answer = {"error": {"kind": self.kind, "message": self.message, "exit_code": self.exit_code}}
            click.echo(json.dumps(answer), file=file, err=file is None)
        else:
            click.echo(f"flowli: {self.message}", file=file, err=file is None)


def translate(error: BaseException) -> CommandFailed | None:
    """The one sentence and exit code of ``error``; None if it is a fault of flowli and not of its use."""
    from flowli.cairn.errors import CairnError, KeyRefused, NotStorable, StoreConfigError
    from flowli.domain import errors
    from flowli.plugins import PluginError

    for leaf in _leaves(error):
        if isinstance(leaf.__cause__, PluginError | StoreConfigError):
            code = ExitCode.USAGE  # the storage was named wrongly: no store was asked
            return CommandFailed(" ".join(str(leaf).split()), code, type(leaf.__cause__).__name__)
        match leaf:
            case CommandFailed():
                return leaf
            case errors.ResultTimeout():
                code = ExitCode.TIMEOUT
            case errors.Outcome() | errors.UnknownExecution() | errors.NotAllowed() | errors.DispatchConflict():
                code = ExitCode.REFUSED
            case errors.UsageError() | PluginError() | StoreConfigError() | KeyRefused() | NotStorable():
                code = ExitCode.USAGE
            case errors.BackendError() | CairnError():
                code = ExitCode.STORAGE
            case errors.FlowliError():
                code = ExitCode.REFUSED
            case _:
                continue
        return CommandFailed(" ".join(str(leaf).split()) or type(leaf).__name__, code, type(leaf).__name__)
    return None


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
