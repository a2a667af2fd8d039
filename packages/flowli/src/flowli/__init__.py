"""flowli: durable workflows for Python.

Workflows are plain async functions; every finished step is remembered in one bucket. Names are loaded when they are
first used, so that ``import flowli`` costs next to nothing.
"""

from flowli._names import PUBLIC
from flowli._version import __version__

__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in PUBLIC:
        from flowli._suggest import near

        raise AttributeError(f"module 'flowli' has no attribute {name!r}{near(name, PUBLIC)}", name=name)
    from importlib import import_module

    value = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
