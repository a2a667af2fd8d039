"""``mutex``, ``semaphore`` and ``singleton``: what a few executions at a time hold, on named leases.

A lease is held by an execution, not by a process: it stays held through suspensions, crashes of workers and deploys.
It is free when the block is left or the execution has ended in any way. Nothing has to be cleaned up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from flowli import Context
from flowli.domain.errors import UsageError
from flowli_patterns._shield import finish
from flowli_patterns._times import Seconds, positive
from flowli_patterns.coordinate.names import checked

__all__ = ["Held", "mutex", "semaphore", "singleton"]

_MOST = 32


@dataclass(frozen=True, slots=True)
class Held:
    """What is held inside of the block.

    Attributes:
        name: as it was given.
        epoch: rises with every holder of the same permit. Give it along to what is protected, which can then refuse a
            request that comes late, from a step of a holder before.
        permit: which of the permits of a semaphore, from 0.
    """

    name: str
    epoch: int
    permit: int = 0


@asynccontextmanager
async def mutex(ctx: Context, name: str) -> AsyncIterator[Held]:
    """Inside of the block this execution is the only one in the bucket that holds ``name``.

    It waits for its turn, in the order of arrival. A workflow that enters the same mutex inside of its block waits for
    itself for ever.

    Raises:
        UsageError: ``name`` has another form.

    Example:
        >>> async with mutex(ctx, f"account:{number}") as held:
        ...     await ctx.step(transfer, number, fence=held.epoch)
    """
    async with ctx.lease(f"mutex:{checked('mutex', name)}") as lease:
        yield Held(name, lease.epoch)


@asynccontextmanager
async def semaphore(ctx: Context, name: str, permits: int) -> AsyncIterator[Held]:
    """Inside of the block this execution is one of at most ``permits`` that hold ``name``.

    Those who wait stand in one line and get whichever permit becomes free first. All who use a name should give the
    same number: with a smaller one an execution uses the first permits only.

    Args:
        permits: 1 to 32.

    Raises:
        UsageError: ``name`` has another form, or ``permits`` is out of range.

    Example:
        >>> async with semaphore(ctx, "gpu", 4) as held:
        ...     await ctx.step(render, scene, device=held.permit)
    """
    checked("semaphore", name)
    if not 1 <= permits <= _MOST:
        raise UsageError(f"semaphore '{name}' has permits={permits}; give 1 to {_MOST}, or a limit on a queue for more")
    leases = [ctx.lease(f"semaphore:{name}:{number}") for number in range(permits)]
    permit: int | None = None
    try:
        async with ctx.lease(f"semaphore:{name}:line"):
            # only who is first in the line asks for the permits, so that nobody is passed by
            permit = await _first(leases)
        yield Held(name, leases[permit].epoch, permit)
    finally:
        if permit is not None:
            await leases[permit].__aexit__(None, None, None)


@asynccontextmanager
async def singleton(ctx: Context, name: str, *, patience: Seconds = 10.0) -> AsyncIterator[Held | None]:
    """Inside of the block this execution is the only one that holds ``name``, or it is told that another one does.

    Args:
        patience: how long to wait for the other one to end, seconds.

    Returns:
        None in the place of ``Held`` if another execution holds it: what is to be done once at a time is being done.

    Raises:
        UsageError: ``name`` has another form, or ``patience`` is not above zero.

    Example:
        >>> async with singleton(ctx, f"import:{customer}") as mine:
        ...     if mine is None:
        ...         return "an import of this customer is under way"
        ...     await ctx.step(import_all, customer)
    """
    lease = ctx.lease(f"singleton:{checked('singleton', name)}")
    limit = positive("patience", patience)
    entering = _entering(lease)
    waiting = asyncio.ensure_future(_nap(ctx, limit.total_seconds()))
    either: list[asyncio.Future[Any]] = [entering, waiting]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await finish(_let_go([lease], [entering], None))
        raise
    finally:
        waiting.cancel()
    if not entering.done():
        entering.cancel()  # which leaves the line
    taken, cancelled = await finish(_settled(entering))
    if cancelled:
        await finish(_let_go([lease], [entering], None))
        raise asyncio.CancelledError
    if not taken and entering.cancelled():
        yield None
        return
    entering.result()
    try:
        yield Held(name, lease.epoch)
    finally:
        await lease.__aexit__(None, None, None)


def _entering(lease: AbstractAsyncContextManager[object]) -> asyncio.Future[object]:
    return asyncio.ensure_future(lease.__aenter__())


async def _first(leases: Sequence[AbstractAsyncContextManager[object]]) -> int:
    """Take one of them, whichever is free first, and none of the others."""
    entering = [_entering(one) for one in leases]
    try:
        await asyncio.wait(entering, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await finish(_let_go(leases, entering, None))
        raise
    taken = next((number for number, one in enumerate(entering) if one.done()), None)
    _, cancelled = await finish(_let_go(leases, entering, taken))
    if taken is None or cancelled:
        if taken is not None:
            await finish(_let_go(leases[taken : taken + 1], entering[taken : taken + 1], None))
        raise asyncio.CancelledError
    entering[taken].result()
    return taken


async def _let_go(
    leases: Sequence[AbstractAsyncContextManager[object]], entering: Sequence[asyncio.Future[object]], keep: int | None
) -> None:
    """Leave every line but that of ``keep``, and let go what was taken meanwhile."""
    for number, one in enumerate(entering):
        if number != keep and not one.done():
            one.cancel()
    for number, one in enumerate(entering):
        if number != keep and await _settled(one):
            await leases[number].__aexit__(None, None, None)


async def _settled(entering: asyncio.Future[object]) -> bool:
    """Wait until an entering has come to its end; whether it has taken the lease."""
    await asyncio.wait([entering])
    return not entering.cancelled() and entering.exception() is None


async def _nap(ctx: Context, seconds: float) -> None:
    await ctx.sleep(seconds)
