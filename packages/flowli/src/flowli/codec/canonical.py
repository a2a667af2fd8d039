"""Canonical JSON and digests: equal data give equal bytes, whatever the order of its keys."""

from __future__ import annotations

import hashlib

import orjson

from flowli.domain.data import Data

__all__ = ["canonical", "digest"]


def canonical(data: Data) -> bytes:
    """Canonical JSON: keys sorted, no spaces, UTF-8."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS)


def digest(data: Data) -> str:
    """The sha256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(data)).hexdigest()
