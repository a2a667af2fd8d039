"""A write is won, lost, gone or unknown; every caller has a branch for each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Gone", "Lost", "Unknown", "Won"]


@dataclass(frozen=True, slots=True)
class Won:
    """The write was applied, once, by this call. ``version`` names the body now stored ("" after a delete)."""

    version: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """The condition did not hold: another body is there. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The condition named a version, and the key is absent. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The store gave no final answer: the write may have been applied, or may yet be.

    Attributes:
        cause: one sentence for logs.
    """

    cause: str = ""
