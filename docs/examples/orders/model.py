"""Orders as they come in, and what becomes of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Order:
    """One line of the shop's export."""

    id: str
    customer: str
    sku: str
    quantity: int
    unit_price: Decimal
    express: bool

    @property
    def total(self) -> Decimal:
        """What the customer pays."""
        return self.quantity * self.unit_price


@dataclass(frozen=True, slots=True)
class Parcel:
    """A parcel on its way."""

    carrier: str
    tracking: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """How an order ended: paid and sent, or refused with a reason."""

    order: str
    paid: Decimal
    parcel: Parcel | None = None
    refused: str | None = None


def read_orders(path: Path) -> list[Order]:
    """Read the shop's export: CSV with the columns of ``Order``."""
    with path.open(newline="") as file:
        return [
            Order(
                row["id"],
                row["customer"],
                row["sku"],
                int(row["quantity"]),
                Decimal(row["unit_price"]),
                row["express"] == "yes",
            )
            for row in csv.DictReader(file)
        ]
