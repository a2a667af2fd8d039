"""Invoices as they come in, decisions about them, and what becomes of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Invoice:
    """A supplier's invoice."""

    number: str
    supplier: str
    amount: Decimal
    due: date
    purchase_order: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided about an invoice."""

    approved: bool
    by: str
    note: str = ""

    @classmethod
    def read(cls, message: object) -> Decision:
        """Read a message of the channel ``decision``; anything but a clear yes is a no."""
        fields = message if isinstance(message, dict) else {}
        return cls(fields.get("approved") is True, str(fields.get("by", "unknown")), str(fields.get("note", "")))


@dataclass(frozen=True, slots=True)
class Settlement:
    """How an invoice ended."""

    invoice: str
    paid: Decimal
    decision: Decision


def read_invoices(path: Path) -> list[Invoice]:
    """Read the mail room's export: a JSON list of objects with the fields of ``Invoice``."""
    return [
        Invoice(
            item["number"],
            item["supplier"],
            Decimal(item["amount"]),
            date.fromisoformat(item["due"]),
            item.get("purchase_order"),
        )
        for item in json.loads(path.read_text())
    ]
