"""``Bill``: what a process asks of its bucket, and about what that costs."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from flowli.cairn.observe import RequestCounts
from flowli.cli.doctor.bill import PRICES
from flowli_api.dto.base import Out

__all__ = ["Bill", "BillOut", "RequestsOut"]

_PUT_CLASS = ("put", "list")


class RequestsOut(Out):
    """The requests of one kind that ended in one way."""

    verb: str = Field(examples=["put"])
    outcome: str = Field(examples=["done"])
    requests: int
    seconds: float = Field(description="How long they took together.")
    sent_bytes: int
    received_bytes: int


class BillOut(Out):
    """What this process has asked of the bucket since it began."""

    since: str
    requests: list[RequestsOut]
    dollars: float | None = Field(description="By list prices of the provider; null where requests cost nothing.")


@dataclass(frozen=True, slots=True)
class Bill:
    """The requests of a process.

    Attributes:
        counts: is told of every request.
        storage: URL of the bucket: its scheme tells the prices.
        since: when the counting began.
    """

    counts: RequestCounts
    storage: str
    since: str

    def out(self) -> BillOut:
        """As it stands now."""
        rows = self.counts.rows()
        prices = PRICES.get(self.storage.partition(":")[0])
        puts = sum(row.requests for row in rows if row.verb in _PUT_CLASS)
        gets = sum(row.requests for row in rows if row.verb == "get")
        return BillOut(
            since=self.since,
            requests=[
                RequestsOut(
                    verb=row.verb,
                    outcome=row.outcome.value,
                    requests=row.requests,
                    seconds=round(row.seconds, 3),
                    sent_bytes=row.sent_bytes,
                    received_bytes=row.received_bytes,
                )
                for row in rows
            ],
            dollars=None if prices is None else round(puts / 1000 * prices.put + gets / 1000 * prices.get, 6),
        )
