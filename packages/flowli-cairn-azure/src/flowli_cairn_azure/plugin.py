"""Registers the URL scheme ``az``. It imports no SDK."""

from __future__ import annotations

from flowli.descriptors import StoreFactory, StoreType
from flowli_cairn_azure._version import __version__


def _load() -> StoreFactory:
    from flowli.cairn.errors import StoreConfigError

    raise StoreConfigError(
        f"flowli-cairn-azure {__version__} does not open az:// buckets yet; it holds the place of the store",
        "Use file:PATH, which works today",
    )


def flowli_stores() -> list[StoreType]:
    """The store of this distribution."""
    return [StoreType("az", f"Azure Blob Storage (not in {__version__} yet)", _load)]
