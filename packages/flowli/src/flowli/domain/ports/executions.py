"""``ExecutionStore``: the execution records."""

from __future__ import annotations

from typing import Protocol

from flowli.domain.execution import Execution
from flowli.domain.ids import Eid

__all__ = ["ExecutionStore"]


class ExecutionStore(Protocol):
    """One record per execution, written once; only ``version`` is ever replaced."""

    async def put(self, execution: Execution) -> bool:
        """Write a record if there is none; False if there is."""

    async def get(self, eid: Eid) -> Execution | None:
        """Read a record."""

    async def replace(self, old: Execution, new: Execution) -> bool:
        """Put ``new`` in the place of ``old``; False if the record is no longer ``old``."""

    async def delete(self, eid: Eid) -> None:
        """Remove a record (its archive must be durable)."""
