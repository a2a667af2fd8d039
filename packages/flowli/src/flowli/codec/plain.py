"""Plain JSON values: the check that a value is one, a private copy of it, and the path to what is not."""

from __future__ import annotations

from math import isfinite

from flowli.domain.data import Data
from flowli.domain.errors import InvalidValue

__all__ = ["MAX_DEPTH", "Refused", "certain", "copy", "described", "key_part", "located"]

MAX_DEPTH = 200
"""How many lists and maps may be nested in one another."""

_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_SMALL = 2**53
_PATH_CHARS = 200


class Refused(Exception):
    """A value cannot be recorded; the parts of the path are collected on the way out, the innermost first."""

    def __init__(self, problem: str, *parts: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.parts = [*reversed(parts)]

    def under(self, part: str) -> None:
        """Note that all this happened inside ``part``."""
        self.parts.append(part)

    def invalid_value(self, path: str) -> InvalidValue:
        """The error for the user; a path that is very long is cut in its middle."""
        full = path + "".join(reversed(self.parts))
        if len(full) > _PATH_CHARS:
            full = f"{full[: _PATH_CHARS // 2]}...{full[-_PATH_CHARS // 2 :]}"
        return InvalidValue(full, self.problem)


def key_part(key: object) -> str:
    """How a path names the value under a map's key: ``.price``, or ``['unit price']``."""
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.60}]"


def described(value: object) -> str:
    """``an int``, ``a datetime.date``, ``None``."""
    if value is None:
        return "None"
    kind = type(value)
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def located(error: Exception) -> Refused:
    """What a converter raised, as a refusal with its path."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, RecursionError):
        return Refused("nested too deep, or it holds itself")
    if isinstance(error, ExceptionGroup) and error.exceptions:
        inner = error.exceptions[0]
        found = located(inner)
        refused = Refused(found.problem, *reversed(found.parts))  # its own: cattrs leaves notes on the one it saw
        for note in getattr(inner, "__notes__", ()):
            if name := getattr(note, "name", None):
                refused.under(f".{name}")
        return refused
    if isinstance(error, NameError):
        return Refused(f"an annotation names {error.name!r}, which cannot be found; define it at the top of its module")
    if isinstance(error, KeyError):
        return Refused(f"the field {error.args[0]!r} is missing")
    return Refused(str(error) or type(error).__name__)


def certain(value: object) -> bool:
    """Whether ``copy`` would give back the value itself, seen at a glance; False if it takes a closer look."""
    kind = type(value)
    if kind is int:
        return -_SMALL < value < _SMALL  # type: ignore[operator]
    if kind is str:
        return value.isascii()  # type: ignore[attr-defined,no-any-return]
    return value is None or kind is bool


def copy(value: object, depth: int = MAX_DEPTH) -> Data:
    """A copy of ``value`` that shares nothing changeable with it.

    Only the very types that JSON gives back are taken: a subclass (an enum member, a named tuple) would not come back.

    Raises:
        Refused: something in it would not come back equal and of equal type.
    """
    if type(value) is str:
        return _text(value)
    if type(value) is int:
        if not _INT_MIN <= value <= _INT_MAX:
            raise Refused(f"an integer of {value.bit_length()} bits; at most 64 can be stored")
        return value
    if type(value) is float:
        if not isfinite(value):
            raise Refused(f"{value} has no JSON form; use None or a text")
        return value
    if type(value) is bool or value is None:
        return value
    if depth == 0:
        raise Refused(f"nested deeper than {MAX_DEPTH} levels")
    if type(value) is list:
        return _list(value, depth - 1)
    if type(value) is dict:
        return _map(value, depth - 1)
    raise Refused(f"{described(value)} is no plain JSON value and would not come back as one; {_advice(value)}")


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refused("a text with half a surrogate pair, which UTF-8 cannot hold") from None
    return value


def _list(value: list[object], depth: int) -> list[Data]:
    made: list[Data] = []
    try:
        for item in value:
            made.append(copy(item, depth))
    except Refused as refused:
        refused.under(f"[{len(made)}]")
        raise
    return made


def _map(value: dict[object, object], depth: int) -> dict[str, Data]:
    made: dict[str, Data] = {}
    key: object = None
    try:
        for key, item in value.items():
            if type(key) is not str:
                raise Refused(
                    f"a key that is {described(key)}: JSON keys are texts; annotate the map, for example dict[int, str]"
                )
            made[_text(key)] = copy(item, depth)
    except Refused as refused:
        refused.under(key_part(key))
        raise
    return made


def _advice(value: object) -> str:
    match value:
        case tuple() if not hasattr(value, "_fields"):
            hint = "tuple[...]"
        case set() | frozenset():
            hint = f"{type(value).__name__}[...]"
        case _:
            hint = type(value).__name__
    return f"annotate the function with {hint}, so that it can be read back, or convert it"
