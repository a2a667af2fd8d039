"""The options that ``run`` and ``doctor`` share: the configuration, and what may be said beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from flowli.domain.errors import UsageError
from flowli_runner.work.config import RunnerConfig, read_config

__all__ = ["config_options", "configured", "url_option"]

F = TypeVar("F", bound=Callable[..., Any])


def config_options(command: F) -> F:
    """Add the options to a command; ``configured`` reads them."""
    options = [
        click.option(
            "--config",
            "path",
            type=click.Path(path_type=Path),
            default=Path("runner.toml"),
            show_default=True,
            envvar="FLOWLI_RUNNER_CONFIG",
            metavar="FILE",
            help="Configuration, TOML.",
        ),
        click.option("--storage", envvar="FLOWLI_STORAGE", metavar="URL", help="Bucket, in the place of the file's."),
        click.option("--queue", metavar="QUEUE", help="Queue, in the place of the file's."),
        click.option(
            "--worker-id",
            envvar="FLOWLI_WORKER_ID",
            metavar="NAME",
            help="Names this runner; the same after every restart.",
        ),
        click.option("--parallel", type=click.IntRange(min=1), metavar="N", help="Tasks worked on at once."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def url_option(command: F) -> F:
    """Add the option that names a service in the place of a bucket."""
    return click.option(
        "--url",
        envvar="FLOWLI_URL",
        metavar="URL",
        help="HTTP service to work through, where the bucket cannot be reached; the token is in FLOWLI_TOKEN.",
    )(command)


def configured(path: Path, **given: object) -> RunnerConfig:
    """The configuration of the file, with what the options say.

    Raises:
        UsageError: it cannot be read, or names no agent.
    """
    config = read_config(path)
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    config = replace(config, **said)
    if not config.agents:
        raise UsageError(f"{path} names no agent; add a table, for example [agents.claude] with kind = 'claude-code'")
    return config
