"""Completion in shells: ids of executions, and the script that turns it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _EidType = click.ParamType[str]
else:  # older versions of click have no parameter there
    _EidType = click.ParamType

__all__ = ["EID"]

_SHOWN = 20


class Eid(_EidType):
    """The id of an execution, or its beginning."""

    name = "eid"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text; what it names is for the command to find."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Ids that begin so, the newest first. A shell must not be told of errors: there are none then."""
        try:
            return _completed(ctx, incomplete)
        except Exception:
            return []


EID = Eid()


def _completed(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    import asyncio

    from click.shell_completion import CompletionItem

    from flowli.cli.index import opened
    from flowli.cli.session import opened_session

    async def found() -> list[CompletionItem]:
        async with opened_session(ctx) as session, opened(session) as index:
            rows = await index.beginning_with(incomplete.lower(), limit=_SHOWN)
            return [CompletionItem(str(row.eid), help=f"{row.workflow} {row.status}") for row in rows]

    return asyncio.run(found())
