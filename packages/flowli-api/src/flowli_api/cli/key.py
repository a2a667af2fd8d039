"""``flowli api new-key``."""

from __future__ import annotations

import click

from flowli.cli.shell import FlowliCommand

__all__ = ["new_key"]


@click.command("new-key", cls=FlowliCommand, under="api")
@click.argument("subject")
@click.option("--capability", "capabilities", multiple=True, required=True, metavar="NAME", help="Repeatable.")
@click.option("--workflow", "workflows", multiple=True, metavar="NAME", help="Only these; repeatable.")
def new_key(subject: str, capabilities: tuple[str, ...], workflows: tuple[str, ...]) -> None:
    """Draw an API key for SUBJECT, and print the lines for the settings of `--auth keys`.

    The settings hold a hash: the key itself is shown this once.
    """
    from flowli.world import SYSTEM
    from flowli_api.auth.capabilities import capabilities as checked
    from flowli_api.auth.keys import draw

    checked(capabilities)
    key, row = draw(SYSTEM, subject)
    row["capabilities"] = list(capabilities)
    if workflows:
        row["workflows"] = list(workflows)
    click.echo(f"key: {key}", err=True)
    click.echo("[[keys]]")
    for name, value in row.items():
        shown = f'"{value}"' if isinstance(value, str) else "[" + ", ".join(f'"{one}"' for one in value) + "]"
        click.echo(f"{name} = {shown}")
