"""Options: those that every command has, and how an option, its environment variable and its default rank.

An option of the command line stands before its environment variable, and that before the default. The common options
are read before and after the name of the command; the later one counts. Options of one command are read from
``FLOWLI_{COMMAND}_{OPTION}``, the common ones from ``FLOWLI_{OPTION}``; ``docs/reference/configuration.md`` lists all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from typing import Any

__all__ = ["LOG_LEVELS", "STORAGE_VARIABLE", "Common", "Settings", "common", "engine_options", "settings"]

STORAGE_VARIABLE = "FLOWLI_STORAGE"
"""What names the bucket where the option does not."""

LOG_LEVELS = ("debug", "info", "warning", "error")

F = TypeVar("F", bound=Callable[..., object])

_RANK = {ParameterSource.ENVIRONMENT: 1, ParameterSource.COMMANDLINE: 2}


@dataclass(slots=True)
class Settings:
    """What the common options say.

    Attributes:
        app: ``module:attr`` of the application.
        storage: URL of the bucket.
        log_level: None leaves it to the command.
        json: answer in JSON.
        exec_ttl_s: TTL of execution leases in seconds; None leaves it to the engine.
        task_ttl_s: TTL of task leases in seconds; None leaves it to the engine.
        grace_s: how long a worker drains; None leaves it to the engine.
        given: rank of the source of each value: 1 environment, 2 command line.
    """

    app: str | None = None
    storage: str | None = None
    log_level: str | None = None
    json: bool = False
    exec_ttl_s: float | None = None
    task_ttl_s: float | None = None
    grace_s: float | None = None
    given: dict[str, int] = field(default_factory=dict)

    def on_command_line(self, name: str) -> bool:
        """Whether the option was typed, not taken from the environment."""
        return self.given.get(name) == _RANK[ParameterSource.COMMANDLINE]


def settings(context: click.Context | None = None) -> Settings:
    """The settings of the command that runs."""
    found = (context or click.get_current_context()).ensure_object(Settings)
    assert isinstance(found, Settings)
    return found


class Common(click.Option):
    """An option whose value goes into ``Settings`` and which help lists after the command's own."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The line of the help: the flag, and what it does with its environment variable."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]} ({self.envvar})")


def _store(context: click.Context, parameter: click.Parameter, value: object) -> None:
    assert parameter.name is not None
    source = context.get_parameter_source(parameter.name)
    rank = _RANK.get(source, 0) if source else 0
    into = settings(context)
    if rank and rank >= into.given.get(parameter.name, 0):
        setattr(into, parameter.name, value)
        into.given[parameter.name] = rank


def _option(flag: str, name: str, **kwargs: Any) -> Callable[[F], F]:
    return click.option(
        flag,
        name,
        cls=Common,
        expose_value=False,
        callback=_store,
        envvar="FLOWLI_" + flag.removeprefix("--").replace("-", "_").upper(),
        **kwargs,
    )


_APP = _option("--app", "app", metavar="MODULE:ATTR", help="Registry, Engine, or a callable returning one.")
_STORAGE = _option("--storage", "storage", metavar="URL", help="The bucket: file:./bucket, s3://name/prefix.")
_LOG_LEVEL = _option(
    "--log-level", "log_level", metavar="LEVEL", type=click.Choice(LOG_LEVELS), help="debug, info, warning or error."
)
_JSON = _option("--json", "json", is_flag=True, help="Answer in JSON.")
_EXEC_TTL = _option("--exec-ttl", "exec_ttl_s", metavar="SECONDS", type=float, help="TTL of execution leases.")
_TASK_TTL = _option("--task-ttl", "task_ttl_s", metavar="SECONDS", type=float, help="TTL of task leases.")
_GRACE = _option("--grace", "grace_s", metavar="SECONDS", type=float, help="Time to drain after SIGTERM or Ctrl-C.")


def common(*, bucket: bool = True, json: bool = True) -> Callable[[F], F]:
    """Add the common options to a command.

    Args:
        bucket: False for a command that works with no bucket.
        json: False for a command whose own ``--json`` takes input; ``flowli --json COMMAND`` works there too.
    """
    return _all([*([_APP, _STORAGE, _LOG_LEVEL] if bucket else []), *([_JSON] if json else [])])


def engine_options(function: F) -> F:
    """Add the options that shape the engine of a long-running process. They are common to those commands."""
    return _all([_GRACE, _EXEC_TTL, _TASK_TTL])(function)


def _all(options: list[Callable[[F], F]]) -> Callable[[F], F]:
    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add
