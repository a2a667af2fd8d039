"""Names that whole applications share."""

from __future__ import annotations

from flowli.domain.errors import UsageError
from flowli.domain.ids import check_key

__all__ = ["checked"]

_MOST = 100


def checked(what: str, name: str) -> str:
    """The name, if it can be one.

    Raises:
        UsageError: it cannot: names are made as business keys are, and have at most 100 characters.
    """
    if len(name) > _MOST:
        raise UsageError(f"the {what} '{name[:20]}...' has a name of {len(name)} characters; use at most {_MOST}")
    return check_key(what, name)
