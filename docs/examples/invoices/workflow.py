"""Invoice approval: small, ordered ones by rule, the others by a person, with a deadline and an escalation.

From the folder ``docs/examples``::

    flowli dev --app invoices.workflow:registry --storage file:./bucket
    flowli signal EID decision '{"approved": true, "by": "Ada"}' --storage file:./bucket
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from flowli import Context, Registry
from invoices.model import Decision, Invoice, Settlement
from invoices.steps import ask_for_decision, match_purchase_order, pay, send_back

registry = Registry()

LIMIT = Decimal(500)
"""What may be paid without a person's decision, if it was ordered."""

ROLES = ("team lead", "head of finance")
"""Who is asked, in this order."""


@registry.workflow
async def approve_invoice(ctx: Context, invoice: Invoice, patience: timedelta = timedelta(days=2)) -> Settlement:
    """Take one invoice from the mail room to payment or back to the supplier.

    Args:
        patience: how long each person has to answer before the next one is asked.
    """
    decision = await decide(ctx, invoice, patience)
    if decision.approved:
        await ctx.step(pay, invoice)
        return Settlement(invoice.number, invoice.amount, decision)
    await ctx.step(send_back, invoice, decision)
    return Settlement(invoice.number, Decimal(0), decision)


async def decide(ctx: Context, invoice: Invoice, patience: timedelta) -> Decision:
    """By rule if it can be, else by whoever answers in time."""
    if await ctx.step(match_purchase_order, invoice) and invoice.amount <= LIMIT:
        return Decision(True, "rule", "ordered, and within the limit")
    for role in ROLES:
        await ctx.step(ask_for_decision, invoice, role)
        answer = await ctx.receive("decision", timeout=patience)
        if answer is not None:
            return Decision.read(answer)
    return Decision(False, "nobody", "no answer in time")
