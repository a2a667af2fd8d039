"""What a test of a suite promises, as a sentence, and the failure that says that it is broken."""

from __future__ import annotations

import re

__all__ = ["BrokenPromise", "broken", "promise_of", "subject_of"]

_BASES = frozenset({"PortSuite", "BackendSuite"})


class BrokenPromise(AssertionError):
    """An implementation does not do what its contract says."""


def subject_of(suite: type) -> str:
    """Whose contract a class tests: ``Journal``, ``ObjectStore``, ..."""
    names = [base.__name__ for base in suite.__mro__ if base.__name__.endswith("Suite")]
    return next((name for name in names if name not in _BASES), suite.__name__).removesuffix("Suite")


def promise_of(name: str) -> str:
    """The sentence that the name of a test is, with its parameters in brackets."""
    found = re.fullmatch(r"(?:test_)?(\w+)(\[.*\])?", name, re.DOTALL)
    words, values = (name, None) if found is None else found.groups()
    return f"{words.replace('_', ' ')}{f' {values}' if values else ''}"


def broken(suite: type, name: str, error: BaseException) -> BrokenPromise:
    """The failure that stands for ``error``, which showed it."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return BrokenPromise(f"{subject_of(suite)} breaks a promise: {promise_of(name)}.\n{said}")
