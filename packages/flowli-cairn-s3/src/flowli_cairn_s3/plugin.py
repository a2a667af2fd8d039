"""Registers the URL scheme ``s3``. It imports no SDK."""

from __future__ import annotations

from flowli.descriptors import StoreFactory, StoreType


def _load() -> StoreFactory:
    from flowli_cairn_s3.store import S3Store

    return S3Store


def flowli_stores() -> list[StoreType]:
    """The store of this distribution."""
    return [StoreType("s3", "Amazon S3 and what speaks its protocol", _load)]
