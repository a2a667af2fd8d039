"""``on_tick``: doing something again and again inside one execution, on a fixed grid of instants.

Tick n is due at ``start + n * every``, however long the work of the ticks before took: the grid does not drift, and it
is the same on every replay. Ticks that fell due while the work of an earlier one went on are left out and counted.

A journal grows with each tick, so that the number of ticks must be bounded; what has no end is a schedule, whose ticks
are executions of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from flowli import Context
from flowli.domain.errors import UsageError
from flowli_patterns._times import Seconds, positive

__all__ = ["Tick", "on_tick"]


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick.

    Attributes:
        number: from 1 on the grid; ticks that were left out count.
        due_at: its instant on the grid.
        skipped: how many ticks were left out since the one before.
    """

    number: int
    due_at: datetime
    skipped: int = 0


async def on_tick(
    ctx: Context,
    work: Callable[[Tick], Awaitable[object]],
    *,
    every: Seconds,
    times: int | None = None,
    until: datetime | None = None,
) -> int:
    """Do ``work`` at every tick.

    Args:
        work: is given the tick. What it returns does not matter unless it is False: that ends the ticks.
        every: the distance of the grid.
        times: how many ticks there are on the grid.
        until: no tick is due after this instant; aware.

    Returns:
        How often the work was done.

    Raises:
        UsageError: ``every`` is not above zero, or neither ``times`` nor ``until`` bounds the ticks.

    Example:
        >>> await on_tick(ctx, lambda tick: ctx.step(measure, tick.due_at), every=timedelta(hours=1), times=24)
    """
    step = positive("every", every)
    last = _last(ctx.now, step, times, until)
    start, number, worked = ctx.now, 0, 0
    with ctx.scope("on_tick"):
        while number < last:
            # the next instant of the grid that is not past: what fell due during the work is left out
            following = max(number + 1, -((start - ctx.now) // step))
            if following > last:
                break
            tick = Tick(following, start + following * step, following - number - 1)
            await ctx.sleep_until(tick.due_at)
            number, worked = following, worked + 1
            with ctx.scope("tick"):
                if await work(tick) is False:
                    break
    return worked


def _last(now: datetime, step: timedelta, times: int | None, until: datetime | None) -> int:
    """The number of the last tick."""
    if times is None and until is None:
        raise UsageError("on_tick has no end; give times= or until=, or use a schedule for what goes on for ever")
    if times is not None and times < 1:
        raise UsageError(f"times is {times}; give at least 1")
    if until is not None and until.tzinfo is None:
        raise UsageError(f"until {until.isoformat()} has no time zone; give one, for example tzinfo=datetime.UTC")
    bounds = [times] if times is not None else []
    if until is not None:
        bounds.append(max(0, (until - now) // step))
    return min(bounds)
