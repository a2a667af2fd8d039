"""The application of the browser tests: invoices, a review, a step that waits to be let go, one that fails."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from invoices.workflow import approve_invoice

from flowli import Context, Registry
from flowli.patterns import review

registry = Registry()
registry.add(approve_invoice)


@dataclass(frozen=True, slots=True)
class Booking:
    """What a decision fills in."""

    account: int
    costs: Literal["travel", "office"]
    urgent: bool = False


@registry.workflow
async def book_invoice(ctx: Context, number: str) -> str:
    """Have a person decide on which account an invoice is booked."""
    decision = await review(ctx, f"Book {number}", data={"number": number}, form=Booking, self_approval=True)
    return f"{number} {decision.verdict} {decision.form.account} {decision.form.costs}"


@registry.workflow
async def print_letter(ctx: Context, pipe: str) -> str:
    """Print a letter, which takes until somebody writes to a pipe."""
    return await ctx.step(read, pipe)


@registry.workflow
async def dictate(ctx: Context) -> str:
    """Write lines to a stream, and answer whoever asks how far it is."""
    lines = ctx.stream("lines")
    for line in ("Dear Ada,", "all is well."):
        await lines.write(line)
    await ctx.publish("state", {"lines": 2})
    async for update in ctx.updates("next_line"):
        await lines.write(update.value)
        await update.reply({"lines": 3})
        break
    await lines.close()
    return "sent"


@registry.workflow
async def look_up(ctx: Context, account: int) -> None:
    """Fail."""
    await ctx.step(missing, account)


def read(pipe: str) -> str:
    """Block until the pipe is written to; `os.open` waits for the writer."""
    with open(os.open(pipe, os.O_RDONLY)) as file:
        return file.read()


def missing(account: int) -> None:
    """Fail."""
    raise LookupError(f"there is no account {account}")
