"""The public names, which ``flowli.patterns`` shows as its own."""

from __future__ import annotations

from flowli_patterns.delegate import delegate
from flowli_patterns.errors import (
    CompensationFailed,
    DelegateFailed,
    DelegateTimeout,
    FanOutFailed,
)
from flowli_patterns.fan_out import Done, Failed, fan_out
from flowli_patterns.on_tick import Tick, on_tick
from flowli_patterns.saga import UNDO_RETRY, Saga, saga

__all__ = [
    "UNDO_RETRY",
    "CompensationFailed",
    "DelegateFailed",
    "DelegateTimeout",
    "Done",
    "FanOutFailed",
    "Failed",
    "Saga",
    "Tick",
    "delegate",
    "fan_out",
    "on_tick",
    "saga",
]
