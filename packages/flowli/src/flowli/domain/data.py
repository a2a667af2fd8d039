"""``Data``: JSON-compatible values, the only form in which values are stored and passed between ports."""

from __future__ import annotations

from typing import TypeAlias, Union

__all__ = ["Data", "Scalar"]

Scalar: TypeAlias = bool | int | float | str | None
Data: TypeAlias = Union[bool, int, float, str, "list[Data]", "dict[str, Data]", None]
