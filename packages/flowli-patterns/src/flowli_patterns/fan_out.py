"""``fan_out``: the same work for many items at once, with a bound, in order.

Each item runs in a task of its own under a node of its own (``root/fan_out#1/item#3/...``), so that what one item does
never shifts the frames of another. Items begin in their order; at most ``max_in_flight`` are under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar, overload

from flowli import Context
from flowli.domain.errors import UsageError
from flowli_patterns.errors import FanOutFailed

__all__ = ["Done", "Failed", "Policy", "fan_out"]

T = TypeVar("T")
R = TypeVar("R")

Policy: TypeAlias = Literal["first", "all", "partial"]
"""What an error of an item means: ``first`` ends all, ``all`` is raised at the end, ``partial`` is a result."""


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """An item that went well."""

    value: R


@dataclass(frozen=True, slots=True)
class Failed:
    """An item that failed."""

    error: Exception


@overload
async def fan_out(
    ctx: Context,
    work: Callable[[T], Awaitable[R]],
    items: Iterable[T],
    *,
    max_in_flight: int | None = None,
    on_error: Literal["first", "all"] = "first",
) -> list[R]: ...
@overload
async def fan_out(
    ctx: Context,
    work: Callable[[T], Awaitable[R]],
    items: Iterable[T],
    *,
    max_in_flight: int | None = None,
    on_error: Literal["partial"],
) -> list[Done[R] | Failed]: ...
async def fan_out(
    ctx: Context,
    work: Callable[[T], Awaitable[R]],
    items: Iterable[T],
    *,
    max_in_flight: int | None = None,
    on_error: Policy = "first",
) -> list[R] | list[Done[R] | Failed]:
    """Do ``work`` for every item and give the results in the order of the items.

    Args:
        work: is given an item and returns something to await: ``ctx.step(...)``, ``ctx.child(...)``, or a coroutine
            that makes several frames.
        items: read once, at the beginning.
        max_in_flight: how many items are under way at most; None for all.
        on_error: ``first``: the first error gives up what is under way and is raised. ``all``: all items are tried; if
            any failed, ``FanOutFailed`` holds every result and every error. ``partial``: all items are tried, and the
            results are ``Done`` or ``Failed``.

    Raises:
        UsageError: ``max_in_flight`` is below 1, or there is no such policy.
        FanOutFailed: see ``on_error``.

    Example:
        >>> receipts = await fan_out(ctx, lambda order: ctx.step(charge, order), orders, max_in_flight=10)
    """
    if max_in_flight is not None and max_in_flight < 1:
        raise UsageError(f"max_in_flight is {max_in_flight}; give at least 1, or None for no bound")
    if on_error not in ("first", "all", "partial"):
        raise UsageError(f"on_error {on_error!r} is no policy; use 'first', 'all' or 'partial'")
    todo = list(items)
    run = _Run(ctx, work, todo, stops=on_error == "first")
    with ctx.scope("fan_out"):
        await run.all(min(len(todo), max_in_flight or len(todo)))
    if on_error == "partial":
        return [Failed(run.errors[n]) if n in run.errors else Done(run.results[n]) for n in range(len(todo))]
    if run.errors and on_error == "first":
        raise run.errors[run.first]
    if run.errors:
        raise FanOutFailed(run.results, run.errors)
    return [run.results[n] for n in range(len(todo))]


class _Run(Generic[T, R]):
    def __init__(self, ctx: Context, work: Callable[[T], Awaitable[R]], items: list[T], *, stops: bool) -> None:
        self._ctx = ctx
        self._work = work
        self._items = items
        self._stops = stops
        self._next = 0
        self.results: dict[int, R] = {}
        self.errors: dict[int, Exception] = {}
        self.first = 0

    async def all(self, runners: int) -> None:
        tasks = [asyncio.ensure_future(self._runner()) for _ in range(runners)]
        if not tasks:
            return
        try:
            await asyncio.gather(*tasks)
        except Exception:
            pass  # under ``first``, and kept in ``errors``
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _runner(self) -> None:
        while self._next < len(self._items):
            number = self._next
            self._next += 1
            with self._ctx.scope("item"):
                try:
                    self.results[number] = await self._work(self._items[number])
                except Exception as error:
                    self.first = number if not self.errors else self.first
                    self.errors[number] = error
                    if self._stops:
                        raise
