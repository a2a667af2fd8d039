"""Order fulfilment: reserve, charge with retries, wait, ship in a child workflow, write to the customer.

From the folder ``docs/examples``::

    flowli dev --app orders.workflow:registry --storage file:./bucket
"""

from __future__ import annotations

from datetime import timedelta

from flowli import Context, Registry, RetryPolicy, StepFailed
from orders.model import Order, Parcel, Receipt
from orders.steps import (
    book_courier,
    book_post,
    charge_card,
    hand_over,
    pick_and_pack,
    release_stock,
    reserve_stock,
    send_receipt,
)

registry = Registry()

PATIENT = RetryPolicy(max_attempts=5, backoff=timedelta(milliseconds=200), max_backoff=timedelta(minutes=1))


@registry.workflow
async def fulfil_order(ctx: Context, order: Order, cooling_off: timedelta = timedelta(minutes=15)) -> Receipt:
    """Take one order from the shop to the customer's door.

    Args:
        cooling_off: how long the customer can still change the address.
    """
    await ctx.step(reserve_stock, order)
    try:
        paid = await ctx.step(charge_card, order, retry=PATIENT)
    except StepFailed as failure:
        await ctx.step(release_stock, order)
        receipt = Receipt(order.id, order.total * 0, refused=failure.error.message)
    else:
        await ctx.sleep(cooling_off)
        parcel = await ctx.child(ship_order, order)
        receipt = Receipt(order.id, paid, parcel)
    await ctx.step(send_receipt, order, receipt)
    return receipt


@registry.workflow
async def ship_order(ctx: Context, order: Order) -> Parcel:
    """Pack an order and give it to a carrier."""
    await ctx.step(pick_and_pack, order)
    parcel = await book(ctx, order)
    await ctx.step(hand_over, order, parcel)
    return parcel


async def book(ctx: Context, order: Order) -> Parcel:
    """Express orders go by courier, unless the courier does not answer in time; all others by post."""
    if order.express:
        try:
            return await ctx.step(book_courier, order, timeout=0.5)
        except StepFailed as failure:
            ctx.log.warning("courier.silent", order=order.id, error=failure.error.message)
    return await ctx.step(book_post, order)
