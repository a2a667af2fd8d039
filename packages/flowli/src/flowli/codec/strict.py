"""Plain values checked against their annotation: for what comes from outside, such as a workflow's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

from flowli.codec.containers import each
from flowli.codec.hints import Hint, is_union, kind, shown, strip
from flowli.codec.plain import Refused, copy, described

__all__ = ["checked"]


def checked(hint: Hint) -> Callable[[Any, Any], Any]:
    """A cattrs hook that copies plain data and refuses what the hint does not allow."""

    def run(data: Any, _: Any) -> Any:
        value = copy(data)
        _check(value, hint)
        return value

    return run


def _check(value: Any, hint: Hint) -> None:
    bare = strip(hint)
    args = get_args(bare)
    if is_union(bare):
        fits = any(_fits(value, strip(arg)) for arg in args)
    elif get_origin(bare) is Literal:
        fits = any(value == arg and type(value) is type(arg) for arg in args)
    else:
        fits = _fits(value, bare)
    if not fits:
        raise Refused(f"{described(value)}, where {shown(bare)} is annotated")
    if isinstance(value, list | dict) and args and not is_union(bare):
        each(value, lambda item: _check(item, args[-1]))


def _fits(value: object, bare: Hint) -> bool:
    wanted = kind(bare)
    match value:
        case _ if wanted == "any":
            return True
        case None:
            return wanted == "null"
        case bool():
            return wanted == "bool" or bare in (int, float)
        case int():
            return wanted == "number"
        case float():
            return wanted == "number" and bare is not int
        case str():
            return wanted == "string"
        case list():
            return wanted == "list"
        case _:
            return wanted == "object"
