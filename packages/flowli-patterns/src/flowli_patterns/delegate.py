"""``delegate``: work that leaves the engine: a task on a queue, the answer on a channel.

The task is an envelope (``Delegate`` of ``flowli.domain.delegate``), the answer an ``Answer``; ``flowli.Consumer``
speaks both, and so does any loop over the ``Queue`` port that keeps to the contract: answer once, deliver first, ack
second.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar, overload

from flowli import Context
from flowli.codec import error_info, from_data
from flowli.domain.data import Data
from flowli.domain.delegate import Answer
from flowli.domain.errors import ErrorInfo, InvalidValue
from flowli_patterns._nodes import channel_of
from flowli_patterns._shield import finish
from flowli_patterns._times import Seconds
from flowli_patterns.errors import DelegateFailed, DelegateTimeout

__all__ = ["delegate"]

T = TypeVar("T")


@overload
async def delegate(
    ctx: Context, queue: str, payload: object = None, *, timeout: Seconds | None = None, as_type: type[T]
) -> T: ...
@overload
async def delegate(ctx: Context, queue: str, payload: object = None, *, timeout: Seconds | None = None) -> Any: ...
async def delegate(
    ctx: Context, queue: str, payload: object = None, *, timeout: Seconds | None = None, as_type: Any = Any
) -> Any:
    """Have a consumer do a piece of work, and wait for its answer.

    Args:
        queue: where consumers take the work from.
        payload: what is to be done; the consumer's handler knows how to read it.
        timeout: seconds for everything; None waits as long as it takes.
        as_type: what the answer's value is.

    Returns:
        The value of the answer.

    Raises:
        DelegateTimeout: no answer came in time. A task that nobody had taken was withdrawn.
        DelegateFailed: the consumer answered with a failure, or its value is not an ``as_type``.

    Example:
        >>> summary = await delegate(ctx, "agents", {"summarise": text}, timeout=timedelta(hours=1), as_type=str)
    """
    with ctx.scope("delegate") as node:
        channel = channel_of(node)
        # shielded: a task that was put must be known by its id, or nobody could take it back
        task_id, cancelled = await finish(ctx.enqueue(queue, payload, reply_to=channel))
        try:
            if cancelled:
                raise asyncio.CancelledError
            reply = await ctx.receive(channel, timeout=timeout)
            if reply is None:
                reply = await _last_look(ctx, queue, task_id, channel)
        except asyncio.CancelledError:
            # nobody waits any more: the work need not begin
            await finish(ctx.withdraw(queue, task_id))
            raise
    return _value(queue, task_id, reply, as_type)


async def _last_look(ctx: Context, queue: str, task_id: str, channel: str) -> Data:
    """Take the task back; if that is too late, an answer may have come at the last moment."""
    withdrawn = await ctx.withdraw(queue, task_id)
    late: Data = None if withdrawn else await ctx.receive(channel, timeout=0)
    if late is None:
        raise DelegateTimeout(queue, task_id, withdrawn)
    return late


def _value(queue: str, task_id: str, reply: Data, as_type: Any) -> Any:
    try:
        answer = Answer.from_data(reply)
    except ValueError as error:
        raise DelegateFailed(queue, task_id, ErrorInfo("builtins.ValueError", str(error))) from None
    if answer.error is not None:
        raise DelegateFailed(queue, task_id, answer.error)
    try:
        return from_data(answer.value, as_type, path="answer")
    except InvalidValue as error:
        raise DelegateFailed(queue, task_id, error_info(error)) from error
