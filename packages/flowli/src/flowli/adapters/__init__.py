"""Backends: implementations of the ten ports, one folder a backend, one file a port; and opening one by its URL."""

from __future__ import annotations

from flowli.adapters.opening import open_backend

__all__ = ["open_backend"]
