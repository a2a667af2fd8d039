"""The entry point of ``flowli-runner``."""

from __future__ import annotations

import sys
from typing import Any

import click

from flowli.cli.exits import ExitCode, translate
from flowli_runner._version import __version__
from flowli_runner.cli.doctor import doctor
from flowli_runner.cli.run import run
from flowli_runner.cli.schema import schema

__all__ = ["main", "runner"]


class _Group(click.Group):
    """Errors of use become one sentence and an exit code, as in ``flowli``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            failed = translate(error)
            if failed is None:
                raise
            click.echo(f"flowli-runner: {failed.message}", err=True)
            ctx.exit(failed.exit_code)


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="flowli-runner", message="%(prog)s %(version)s")
@click.pass_context
def runner(context: click.Context) -> None:
    """Have coding agents and programs do the work that flowli workflows delegate.

    \b
    See whether all is there:  flowli-runner doctor --config runner.toml
    Work:                      flowli-runner run --config runner.toml
    What workflows may ask:    flowli-runner schema envelope

    A runner takes tasks from one queue of a bucket. Each is worked on by an agent in a git tree and on a branch of its
    own; the answer is a report of what changed, what the checks found, and where every byte of the work is kept. When
    a runner dies its agents work on, and the next runner on the host goes on with them.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


runner.add_command(run)
runner.add_command(doctor)
runner.add_command(schema)


def main() -> None:
    """Run ``flowli-runner`` with the arguments of this process and exit."""
    try:
        code = runner.main(prog_name="flowli-runner", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("flowli-runner: interrupted", err=True)
        sys.exit(ExitCode.INTERRUPTED)
    sys.exit(code if isinstance(code, int) else ExitCode.DONE)
