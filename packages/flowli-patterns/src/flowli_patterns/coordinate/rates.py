"""``throttle`` and ``debounce``: how often, and which of many.

A throttle is a row of places in time. Each caller claims the first place that is free and waits until it begins: the
claims decide every race, the order of arrival is kept, and a place of somebody who has ended passes by with its time.

A debounce is a line without an end. A caller's place in it is that of a message in a global channel which nobody reads.
It tells the one before, whose address stands under the claim of the place before, and waits to be told itself. Who has
not left an address yet, finds in its place that it was followed. So a caller costs the same however many came before.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from flowli import Context
from flowli.domain.errors import StepFailed, UsageError
from flowli.domain.ids import parse_eid
from flowli_patterns._nodes import channel_of
from flowli_patterns._times import Seconds, positive
from flowli_patterns.coordinate.names import checked

__all__ = ["debounce", "throttle"]

_FOLLOWED = "followed"
_BACK = 8


async def throttle(ctx: Context, name: str, limit: int, per: Seconds) -> datetime:
    """Wait for one's turn, so that at most ``limit`` callers in the bucket go on in each window of ``per``.

    Windows lie on a grid that begins in 1970: of two windows side by side, up to ``2 * limit`` may go on within
    ``per``. All who use a name should give the same numbers.

    Returns:
        The beginning of the window in which this caller goes on.

    Raises:
        UsageError: ``name`` has another form, ``limit`` is below 1, or ``per`` is not above zero.

    Example:
        >>> await throttle(ctx, "mail-gateway", 100, timedelta(minutes=1))
        >>> await ctx.step(send_mail, letter)
    """
    checked("throttle", name)
    length_us = round(positive("per", per).total_seconds() * 1e6)
    if limit < 1:
        raise UsageError(f"throttle '{name}' has limit={limit}; give at least 1")
    with ctx.scope("throttle") as node:
        mine = f"{ctx.eid}/{node}"
        number = round(ctx.now.timestamp() * 1e6) // length_us * limit
        while await ctx.claim(f"throttle:{name}:{length_us}:{limit}:{number}", mine) != mine:
            number += 1
        begins_s = number // limit * length_us / 1e6
        wait_s = begins_s - ctx.now.timestamp()
        if wait_s > 0:
            await ctx.sleep(wait_s)
    return datetime.fromtimestamp(begins_s, ctx.now.tzinfo)


async def debounce(ctx: Context, name: str, quiet: Seconds) -> bool:
    """Wait until ``name`` has been quiet: of callers that come shortly one after another, only the last one goes on.

    Args:
        quiet: how long nobody may come after this caller, seconds.

    Returns:
        Whether this caller is to go on. False as soon as another one has come: the other one stands for this one.

    Raises:
        UsageError: ``name`` has another form, or ``quiet`` is not above zero.

    Example:
        >>> if await debounce(ctx, f"reindex:{shop}", timedelta(minutes=5)):
        ...     await ctx.step(reindex, shop)
    """
    limit = positive("quiet", quiet)
    row = hashlib.sha256(checked("debounce", name).encode()).hexdigest()[:24]
    with ctx.scope("debounce") as node:
        place = await ctx.broadcast(f"_debounce-{row}")
        mine = {"eid": str(ctx.eid), "channel": channel_of(node)}
        await _tell_before(ctx, f"debounce:{row}", place)
        if await ctx.claim(f"debounce:{row}:{place}", mine) != mine:
            return False
        followed = await ctx.receive(mine["channel"], timeout=limit)
    return followed is None


async def _tell_before(ctx: Context, row: str, place: int) -> None:
    """Tell the caller before ``place`` that it is followed; one that has not left its address is told by the claim.

    That one may be about to end, or stand still: the one before it is told as well.
    """
    for before in range(place - 1, max(0, place - 1 - _BACK), -1):
        found = await ctx.claim(f"{row}:{before}", _FOLLOWED)
        if isinstance(found, dict):
            try:
                await ctx.send(parse_eid(found["eid"]), found["channel"], _FOLLOWED)
            except StepFailed:
                pass  # it has ended: nobody waits there
        if found != _FOLLOWED:
            return
