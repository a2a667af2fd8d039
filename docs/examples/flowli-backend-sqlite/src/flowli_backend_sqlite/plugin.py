"""Registers the URL scheme ``rows``. It imports nothing but the descriptors: ``load`` does the rest."""

from __future__ import annotations

from flowli.descriptors import BackendFactory, BackendType


def _load() -> BackendFactory:
    from flowli_backend_sqlite.backend import SqliteBackend

    return SqliteBackend


def flowli_backends() -> list[BackendType]:
    """The backend of this distribution."""
    return [BackendType("rows", "Executions in one SQLite file, for the processes of one host", _load)]
