"""The limit of values."""

from __future__ import annotations

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import PayloadTooLarge

__all__ = ["check_size"]


def check_size(what: str, data: Data, limit_bytes: int, *, verb: str = "pass") -> None:
    """Refuse a value over the limit.

    Args:
        what: begins the message.
        verb: what is to be done with a reference in its place.

    Raises:
        PayloadTooLarge: it is.
    """
    size = len(codec.canonical(data))
    if size > limit_bytes:
        raise PayloadTooLarge(
            f"{what} has {size:,} bytes and the limit is {limit_bytes:,} (EngineConfig.max_value_bytes); "
            f"store the data elsewhere and {verb} a reference"
        )
