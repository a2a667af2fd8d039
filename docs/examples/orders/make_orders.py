"""Writes ``orders.csv``: 240 invented orders, the same ones every time."""

from __future__ import annotations

import csv
import random
from pathlib import Path

CATALOGUE = {
    "KETTLE-1L": "34.90",
    "LAMP-OAK": "89.00",
    "MUG-BLUE": "12.50",
    "NOTEBOOK-A5": "7.20",
    "PAN-28": "59.00",
    "TOWEL-XL": "24.00",
    "UMBRELLA": "19.95",
}
FIRST = ["Ada", "Bela", "Chidi", "Dana", "Emre", "Freya", "Goran", "Hana", "Ines", "Jonas", "Kaja", "Liam"]
LAST = ["Adler", "Brandt", "Costa", "Diaz", "Eklund", "Farkas", "Grieg", "Horvat", "Ivanov", "Jansen"]


def main(path: Path) -> None:
    """Write the file."""
    chance = random.Random(240)
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "customer", "sku", "quantity", "unit_price", "express"])
        for number in range(1, 241):
            sku = chance.choice(sorted(CATALOGUE))
            customer = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
            express = "yes" if chance.randrange(3) == 0 else "no"
            out.writerow([f"SO-{number:04}", customer, sku, chance.randrange(1, 6), CATALOGUE[sku], express])


if __name__ == "__main__":
    main(Path(__file__).with_name("orders.csv"))
