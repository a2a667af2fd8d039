"""Registers the URL scheme ``s3``. It imports no SDK."""

from __future__ import annotations

from flowli.descriptors import StoreFactory, StoreType
from flowli_cairn_s3._version import __version__


def _load() -> StoreFactory:
    from flowli.cairn.errors import StoreConfigError

    raise StoreConfigError(
        f"flowli-cairn-s3 {__version__} does not open s3:// buckets yet; it holds the place of the store",
        "Use file:PATH, which works today",
    )


def flowli_stores() -> list[StoreType]:
    """The store of this distribution."""
    return [StoreType("s3", f"Amazon S3 and what speaks its protocol (not in {__version__} yet)", _load)]
