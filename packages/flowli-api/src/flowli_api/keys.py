"""Idempotency keys: what a caller sends becomes a key of the engine that no other caller can hit."""

from __future__ import annotations

import hashlib

from flowli_api.auth.identity import Identity

__all__ = ["scoped"]


def scoped(caller: Identity, key: str | None) -> str | None:
    """The engine's key for a key of a caller; None for none."""
    if key is None:
        return None
    digest = hashlib.sha256(f"{caller.actor.id}\n{key}".encode()).hexdigest()
    return f"http:{digest[:40]}"
