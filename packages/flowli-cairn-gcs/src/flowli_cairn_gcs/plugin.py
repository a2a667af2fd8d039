"""Registers the URL scheme ``gs``. It imports no SDK."""

from __future__ import annotations

from flowli.descriptors import StoreFactory, StoreType


def _load() -> StoreFactory:
    from flowli_cairn_gcs.store import GcsStore

    return GcsStore


def flowli_stores() -> list[StoreType]:
    """The store of this distribution."""
    return [StoreType("gs", "Google Cloud Storage", _load)]
