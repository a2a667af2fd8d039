"""How a long-running command stops: the first SIGTERM or SIGINT drains it, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["draining"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def draining(stop: Callable[[], object], grace_s: float) -> Iterator[None]:
    """Handle the signals of this process while the body runs.

    Args:
        stop: asks the work to end; called once, on the event loop.
        grace_s: how long the work may take to end; only for the message.
    """
    loop = asyncio.get_running_loop()
    seen: list[signal.Signals] = []

    def received(number: signal.Signals) -> None:
        seen.append(number)
        if len(seen) > 1:
            _quit(number)
        _say(f"{number.name}: finishing what runs, up to {grace_s:g} s; once more to quit at once")
        stop()

    for number in _SIGNALS:
        loop.add_signal_handler(number, received, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _quit(number: signal.Signals) -> None:
    """End without any clean-up, as if killed: leases expire and another worker takes over."""
    _say(f"{number.name} again: quitting at once; other workers take over what ran here")
    os._exit(128 + number)


def _say(text: str) -> None:
    sys.stderr.write(f"flowli: {text}\n")
    sys.stderr.flush()
