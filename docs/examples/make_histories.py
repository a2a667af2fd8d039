"""Records ``histories``: journals of both applications, which the tests replay with today's code.

From the folder ``docs/examples``: ``python make_histories.py``.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from app import registry
from invoices.model import read_invoices
from invoices.workflow import approve_invoice
from orders.model import Order, read_orders
from orders.workflow import fulfil_order
from outside import LEDGER

from flowli.domain.entries import FrameFailed, JournalEntry
from flowli.domain.frames import FrameKind
from flowli.testing.env import TestEnvironment
from flowli.testing.histories import Histories

HERE = Path(__file__).parent

ORDERS = {
    "order-paid-at-once": "SO-0004",
    "order-with-a-busy-processor": "SO-0002",
    "order-with-a-silent-courier": "SO-0003",
    "order-declined": "SO-0095",
}
INVOICES: dict[str, tuple[str | None, ...]] = {
    "invoice-by-rule": (),
    "invoice-by-lead": ("team lead",),
    "invoice-escalated": (None, "head of finance"),
    "invoice-nobody-answers": (None, None),
}
"""Who answers when; None lets two days pass."""


async def record(histories: Histories) -> None:
    """Run some orders and invoices, and keep their journals."""
    async with TestEnvironment(registry) as env:
        orders = {order.id: order for order in read_orders(HERE / "orders" / "orders.csv")}
        for name, number in ORDERS.items():
            await record_order(env, histories, name, orders[number])
        invoices = read_invoices(HERE / "invoices" / "invoices.json")
        by_rule = next(one for one in invoices if one.purchase_order and one.amount < 500)
        for name, answers in INVOICES.items():
            invoice = replace(by_rule, purchase_order=None) if answers else by_rule
            eid = await env.start(approve_invoice, invoice)
            await env.settle()
            for who in answers:
                if who is None:
                    await env.advance(timedelta(days=2))
                else:
                    await env.signal(eid, "decision", {"approved": True, "by": who})
                    await env.settle()
            histories.save(name, without_tracebacks(await env.journal(eid)))


async def record_order(env: TestEnvironment, histories: Histories, name: str, order: Order) -> None:
    """One order: as it waits for the customer, as it ended, and how it was shipped."""
    eid = await env.start(fulfil_order, order)
    await env.settle()
    if not (await env.status(eid)).status.terminal:
        histories.save(f"{name}-waiting", without_tracebacks(await env.journal(eid)))
    await env.run_until_idle()
    histories.save(name, without_tracebacks(await env.journal(eid)))
    for frame in (await env.frames(eid)).values():
        if frame.kind is FrameKind.CHILD:
            child = UUID(str(frame.metadata["eid"]))
            histories.save(f"{name}-shipping", without_tracebacks(await env.journal(child)))


def without_tracebacks(entries: tuple[JournalEntry, ...]) -> list[JournalEntry]:
    """The entries without what names folders of this machine."""
    return [
        replace(entry, body=replace(entry.body, error=replace(entry.body.error, traceback="")))
        if isinstance(entry.body, FrameFailed)
        else entry
        for entry in entries
    ]


def main(folder: Path = HERE / "histories") -> None:
    """Record all of them."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ[LEDGER] = str(Path(scratch) / "ledger.jsonl")
        asyncio.run(record(Histories(folder)))


if __name__ == "__main__":
    main()
