"""Writes ``invoices.json``: 60 invented invoices, the same ones every time."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from pathlib import Path

SUPPLIERS = [
    "Copper & Co",
    "Green Paper Ltd",
    "Harbour Freight",
    "Nordlicht IT",
    "Oak Furniture",
    "Sunny Catering",
]


def main(path: Path) -> None:
    """Write the file."""
    chance = random.Random(60)
    invoices = []
    for number in range(1, 61):
        invoice = {
            "number": f"INV-{number:03}",
            "supplier": chance.choice(SUPPLIERS),
            "amount": f"{chance.randrange(20_00, 1200_00) / 100:.2f}",
            "due": (date(2026, 9, 1) + timedelta(days=chance.randrange(60))).isoformat(),
        }
        if chance.randrange(4):
            invoice["purchase_order"] = f"PO-{chance.randrange(1000, 9999)}"
        invoices.append(invoice)
    path.write_text(json.dumps(invoices, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(__file__).with_name("invoices.json"))
