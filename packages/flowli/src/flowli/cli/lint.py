"""``flowli lint``: what a replay could not repeat, found in the source of workflows."""

from __future__ import annotations

import click

from flowli.cli.exits import ExitCode
from flowli.cli.options import common, settings
from flowli.cli.shell import FlowliCommand

__all__ = ["lint"]


@click.command(cls=FlowliCommand)
@click.argument("targets", metavar="MODULE...", nargs=-1, required=True)
@common(bucket=False)
@click.pass_context
def lint(context: click.Context, targets: tuple[str, ...]) -> None:
    """Find in workflows what a replay could not repeat.

    MODULE is the name of a module or package, a file or a folder. It is read, not run. The exit code is 1 if anything
    was found. End a line with "# noqa: FL001" to pass over it for that code.
    """
    from flowli.cli.render.screen import Screen
    from flowli.runtime.lint import lint_module

    screen = Screen(json_wanted=settings().json)
    found = sorted({one for target in targets for one in lint_module(target)})
    if screen.json_wanted:
        screen.json(
            [
                {
                    "path": one.path,
                    "line": one.line,
                    "column": one.column,
                    "code": one.code,
                    "message": one.message,
                    "function": one.function,
                }
                for one in found
            ]
        )
    else:
        for one in found:
            screen.line(f"{one.path}:{one.line}:{one.column}: ", (one.code, "bold red"), f" {one.message}")
        screen.line("Nothing found." if not found else f"Found {len(found)} problem{'s' if len(found) > 1 else ''}.")
    if found:
        context.exit(int(ExitCode.REFUSED))
