"""``flowli-runner schema``."""

from __future__ import annotations

import json

import click

from flowli_runner.contracts import Envelope, Report, json_schema

__all__ = ["schema"]

_KINDS = {"envelope": Envelope, "report": Report}


@click.command(short_help="Print the JSON Schema of envelope or report.")
@click.argument("contract", type=click.Choice(list(_KINDS)))
def schema(contract: str) -> None:
    """Print the JSON Schema of what a workflow asks for (envelope) or is told (report)."""
    click.echo(json.dumps(json_schema(_KINDS[contract]), indent=2))
