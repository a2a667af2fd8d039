"""What the requests will cost, by the request budget and public list prices. Bytes are not in it: they are few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowli.cli.doctor.check import Finding, Level, Patient
from flowli.domain.data import Data

__all__ = ["PRICES", "Prices", "bill", "requests_a_month"]

_DAYS = 30
_IDLE_LISTS_AN_HOUR = 720
_IDLE_PUTS_AN_HOUR = 60
_PUTS_BESIDES_STEPS = 4
_GETS = 3


@dataclass(frozen=True, slots=True)
class Prices:
    """List prices of standard storage in a large region, in dollars for a thousand requests. Deletes cost nothing.

    Attributes:
        put: a write or a listing.
        get: a read.
    """

    put: float
    get: float


PRICES: Mapping[str, Prices] = {
    "s3": Prices(0.005, 0.0004),
    "az": Prices(0.0055, 0.00044),
    "gs": Prices(0.005, 0.0004),
}
"""By the scheme of the storage URL. Prices differ between regions and change: an estimate, not an offer."""


def requests_a_month(per_day: int, steps: int, workers: int) -> tuple[int, int]:
    """How many writes and listings, and how many reads, at most.

    Args:
        per_day: executions a day.
        steps: steps of each.
        workers: processes that wait for work all the time.
    """
    idle = (_IDLE_LISTS_AN_HOUR + _IDLE_PUTS_AN_HOUR) * 24 * _DAYS * workers
    return per_day * _DAYS * (steps + _PUTS_BESIDES_STEPS) + idle, per_day * _DAYS * _GETS


async def bill(patient: Patient) -> list[Finding]:
    """Estimate the bill of a month."""
    wishes, scheme = patient.wishes, patient.store.url.partition(":")[0]
    puts, gets = requests_a_month(wishes.per_day, wishes.steps, wishes.workers)
    what = (
        f"{wishes.per_day} executions a day of {wishes.steps} steps and {wishes.workers} workers make at most "
        f"{puts:,} writes and listings and {gets:,} reads a month"
    )
    data: dict[str, Data] = {"put_class": puts, "get_class": gets, "dollars": None}
    prices = PRICES.get(scheme)
    if prices is None:
        return [Finding("bill", Level.GOOD, f"{what}, which cost nothing here.", data)]
    dollars = puts / 1000 * prices.put + gets / 1000 * prices.get
    data["dollars"] = round(dollars, 2)
    whose = " if this service charges as Amazon does" if scheme == "s3" and "endpoint_url=" in patient.store.url else ""
    return [Finding("bill", Level.GOOD, f"{what}: about ${dollars:,.2f} by list prices{whose}.", data)]
