"""``UnknownBody``: what a newer version wrote."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.data import Data

__all__ = ["UnknownBody"]


@dataclass(frozen=True, slots=True)
class UnknownBody:
    """An entry written by a newer version. It is kept as it is and waits for the operator."""

    tag: str
    data: dict[str, Data]
