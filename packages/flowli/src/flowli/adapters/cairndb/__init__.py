"""``CairnBackend``: the ten ports over one cairn, which is a database made of one bucket. One file a port."""

from __future__ import annotations

from flowli.adapters.cairndb.backend import CairnBackend

__all__ = ["CairnBackend"]
