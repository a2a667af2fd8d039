"""Adapters that know their program: its arguments may be added to, or another path be named for it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["split_program"]


def split_program(default: str, argv: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The program, and what is added to its arguments.

    Args:
        argv: of the setup; its first text names a program unless it is an option.
    """
    if not argv or argv[0].startswith("-"):
        return default, tuple(argv)
    return argv[0], tuple(argv[1:])
