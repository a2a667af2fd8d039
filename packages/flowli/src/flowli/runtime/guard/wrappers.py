"""Functions of the standard library that read clocks or draw chance are replaced, for the whole process, by ones that
refuse to be called by workflow code during a slice. Everywhere else they do what they always did.

What was imported by name before (``from time import time``) is not reached by this; ``calls`` sees it from Python 3.12
on, and ``flowli lint`` always.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from flowli.runtime.guard.callers import is_workflow_code
from flowli.runtime.guard.names import CLOCK_WITHOUT, FORBIDDEN, Reason, refusal
from flowli.runtime.guard.slices import by_thread, here

__all__ = ["install", "originals", "uninstall"]

_THREAD = "threading.Thread.start"
_MODULES = ("time", "random", "uuid", "os", "secrets", "asyncio")

originals: dict[str, tuple[Any, str, Any]] = {}
"""What was replaced, by full name: of which object, as which attribute, and the function itself."""


def install() -> None:
    """Replace the functions; a second call changes nothing."""
    if originals:
        return
    for name, reason in FORBIDDEN.items():
        module, _, attribute = name.rpartition(".")
        if module in _MODULES:
            _replace(import_module(module), attribute, name, _guarded(name, reason))
    chance = import_module("random")
    # secrets and SystemRandom draw here
    _replace(chance, "_urandom", "random.SystemRandom", _guarded("random.SystemRandom", Reason.SECRET))
    _replace(chance.Random, "seed", "random.Random", _guarded_seed)
    _replace(import_module("threading").Thread, "start", _THREAD, _guarded(_THREAD, Reason.THREAD))


def uninstall() -> None:
    """Put everything back."""
    for owner, attribute, original in originals.values():
        if getattr(getattr(owner, attribute), "__wrapped__", None) is original:
            setattr(owner, attribute, original)
    originals.clear()


def _replace(owner: Any, attribute: str, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, attribute, None)
    if original is not None:
        originals[name] = (owner, attribute, original)
        setattr(owner, attribute, make(original))


def _guarded(name: str, reason: Reason) -> Callable[[Any], Any]:
    harmless_from = CLOCK_WITHOUT.get(name, sys.maxsize)

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if by_thread and here() and len(args) < harmless_from and is_workflow_code(sys._getframe(1)):
                raise refusal(f"{name}()", reason)
            return original(*args, **kwargs)

        return guarded

    return make


def _guarded_seed(original: Any) -> Any:
    @functools.wraps(original)
    def seed(self: Any, a: Any = None, *args: Any, **kwargs: Any) -> Any:
        if a is None and here() and is_workflow_code(sys._getframe(1)):
            raise refusal("random.Random() without a seed", Reason.CHANCE)
        return original(self, a, *args, **kwargs)

    return seed
