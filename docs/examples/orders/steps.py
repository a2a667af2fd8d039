"""What fulfilling an order does to the outside world. Steps may be plain or async functions."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from outside import happened, luck

from flowli import NonRetryableError, step_info
from orders.model import Order, Parcel, Receipt


class ProcessorBusy(Exception):
    """The card processor asks to try again."""


def reserve_stock(order: Order) -> None:
    """Put the goods aside."""
    happened("reserve", order.id)


def release_stock(order: Order) -> None:
    """Put the goods back on the shelf."""
    happened("release", order.id)


async def charge_card(order: Order) -> Decimal:
    """Charge the customer. For some orders the processor is busy at first; a few cards it declines for good."""
    await asyncio.sleep(0.02)
    if luck(order.id, 40) == 0:
        raise NonRetryableError("the card was declined")
    busy = {1: 1, 2: 2}.get(luck(order.id, 8), 0)
    if step_info().attempt <= busy:
        raise ProcessorBusy("the card processor is busy")
    happened("charge", order.id)
    return order.total


def pick_and_pack(order: Order) -> None:
    """Fetch the goods and close the parcel."""
    happened("pack", order.id)


async def book_courier(order: Order) -> Parcel:
    """Book the express courier, whose service does not answer for some orders."""
    await asyncio.sleep(30 if luck(order.id, 7) == 0 else 0.02)
    happened("courier", order.id)
    return Parcel("courier", f"CR-{order.id}")


def book_post(order: Order) -> Parcel:
    """Book the post, which always has room."""
    happened("post", order.id)
    return Parcel("post", f"PO-{order.id}")


def hand_over(order: Order, parcel: Parcel) -> None:
    """Give the parcel to the driver."""
    happened("hand over", order.id)


def send_receipt(order: Order, receipt: Receipt) -> None:
    """Write to the customer."""
    happened("mail", order.id)
