"""The entry point of ``flowli``."""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

import click

from flowli._version import __version__
from flowli.cli.exits import ExitCode
from flowli.cli.options import common
from flowli.cli.shell import FlowliGroup

__all__ = ["flowli", "main"]


@click.group(
    cls=FlowliGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@common()
@click.version_option(__version__, prog_name="flowli", message="%(prog)s %(version)s")
@click.pass_context
def flowli(context: click.Context) -> None:
    """Durable workflows for Python: plain async functions and one bucket.

    \b
    A first application:     flowli init hello && cd hello
    See it run:              flowli dev
    Help of one command:     flowli COMMAND --help
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run ``flowli`` with the arguments of this process and exit."""
    warnings.showwarning = _warn
    try:
        code = flowli.main(prog_name="flowli", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("flowli: interrupted", err=True)
        sys.exit(ExitCode.INTERRUPTED)
    except Exception:
        import traceback

        traceback.print_exc()
        click.echo("flowli: this is a fault of flowli; the lines above say where", err=True)
        sys.exit(ExitCode.FAULT)
    sys.exit(code if isinstance(code, int) else ExitCode.DONE)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as a sentence; where in flowli's code it was raised helps nobody at a shell."""
    click.echo(f"flowli: {message}", err=True)
