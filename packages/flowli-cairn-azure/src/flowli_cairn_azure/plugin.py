"""Registers the URL scheme ``az``. It imports no SDK."""

from __future__ import annotations

from flowli.descriptors import StoreFactory, StoreType


def _load() -> StoreFactory:
    from flowli_cairn_azure.store import AzureStore

    return AzureStore


def flowli_stores() -> list[StoreType]:
    """The store of this distribution."""
    return [StoreType("az", "Azure Blob Storage", _load)]
