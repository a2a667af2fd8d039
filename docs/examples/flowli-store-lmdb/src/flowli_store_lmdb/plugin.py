"""Registers the URL scheme ``lmdb``. It imports nothing but the descriptors: ``load`` does the rest."""

from __future__ import annotations

from flowli.descriptors import StoreFactory, StoreType


def _load() -> StoreFactory:
    from flowli_store_lmdb.store import LmdbStore

    return LmdbStore


def flowli_stores() -> list[StoreType]:
    """The store of this distribution."""
    return [StoreType("lmdb", "A bucket in one LMDB file, for the processes of one host", _load)]
