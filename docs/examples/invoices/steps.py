"""What approving an invoice does to the outside world."""

from __future__ import annotations

from outside import happened, luck

from invoices.model import Decision, Invoice


def match_purchase_order(invoice: Invoice) -> bool:
    """Whether the purchase order that the invoice names exists and fits."""
    happened("match", invoice.number)
    return invoice.purchase_order is not None and luck(invoice.purchase_order, 10) != 0


def ask_for_decision(invoice: Invoice, role: str) -> None:
    """Write to the person who has to decide; the answer comes back on the channel ``decision``."""
    happened(f"ask {role}", invoice.number)


def pay(invoice: Invoice) -> None:
    """Order the transfer."""
    happened("pay", invoice.number)


def send_back(invoice: Invoice, decision: Decision) -> None:
    """Tell the supplier why nothing will be paid."""
    happened("send back", invoice.number)
