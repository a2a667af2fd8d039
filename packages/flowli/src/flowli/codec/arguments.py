"""Arguments of workflows and steps: bound to the signature, recorded under the annotations of the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from flowli._suggest import near
from flowli.codec.hints import Hint, is_plain
from flowli.codec.plain import Refused, certain, copy
from flowli.codec.signatures import Callee, callee, optional
from flowli.codec.values import from_data, to_data
from flowli.domain.data import Data
from flowli.domain.errors import BadArguments, InvalidValue

__all__ = ["arguments", "load_arguments"]

Parameter = inspect.Parameter


def arguments(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    skip_first: bool,
    *,
    strict: bool | None = None,
) -> dict[str, Data]:
    """Bind a call against the signature of ``fn`` and record its arguments.

    The same call written in two ways (``f(1, b=2)``, ``f(1, 2)``) is recorded as the same. Defaults are not recorded.

    Args:
        fn: a workflow or a step.
        args: positional arguments, without the context.
        kwargs: keyword arguments.
        skip_first: whether the first parameter is the context.
        strict: check plain values against their annotation too, and take typed values in their JSON form as well, since
            the call may come from a command line or the network; by default what ``skip_first`` is.

    Returns:
        ``{"args": [...], "kwargs": {...}}``.

    Raises:
        BadArguments: they do not fit; one sentence that names the parameter.
        InvalidValue: one of them cannot be recorded; with its path (``args.items[3].price``).
    """
    target = _callee(fn, skip_first)
    checking = skip_first if strict is None else strict
    if not kwargs and target.places is not None and target.needed <= len(args) <= len(target.places):
        # nearly every call of a step; to bind it takes longer than all the rest
        return {
            "args": [
                cast("Data", value)
                if target.plain and not checking and certain(value)
                else _record(value, hint, name, checking)
                for value, (name, hint) in zip(args, target.places, strict=False)
            ],
            "kwargs": {},
        }
    try:
        bound = target.signature.bind(*args, **kwargs)
    except TypeError:
        raise BadArguments(_problem(target, args, kwargs)) from None
    positional = [
        _record(value, hint, name, checking)
        for value, (name, hint) in zip(bound.args, _positions(target), strict=False)
    ]
    named = {name: _record(value, _named(target, name), name, checking) for name, value in bound.kwargs.items()}
    return {"args": positional, "kwargs": named}


def load_arguments(
    fn: Callable[..., object], data: Mapping[str, Data], skip_first: bool
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments that ``arguments`` recorded, to call ``fn`` with (after the context, if it takes one).

    Raises:
        InvalidValue: the annotations have changed so that one can no longer be read.
    """
    target = _callee(fn, skip_first)
    args = cast("list[Data]", data.get("args", []))
    kwargs = cast("dict[str, Data]", data.get("kwargs", {}))
    positional = [
        from_data(value, hint, path=f"args.{name}")
        for value, (name, hint) in zip(args, _positions(target), strict=False)
    ]
    named = {name: from_data(value, _named(target, name), path=f"args.{name}") for name, value in kwargs.items()}
    return tuple(positional), named


def _callee(fn: Callable[..., object], skip_first: bool) -> Callee:
    target = callee(fn)
    if not skip_first:
        return target
    first = next(iter(target.signature.parameters.values()), None)
    if first is None or first.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
        raise BadArguments(f"{target.name} takes no context; write it as async def {target.name}(ctx, ...)")
    return target if first.kind is Parameter.VAR_POSITIONAL else target.without_first()


def _positions(target: Callee) -> Iterator[tuple[str, Hint]]:
    """Name and hint for each positional argument, without end: the call itself reports those that are too many."""
    rest: tuple[str, Hint] = ("args", Any)
    for name, parameter in target.signature.parameters.items():
        hint = target.hints.get(name, Any)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            rest = (name, hint)
        elif parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            yield name, optional(parameter, hint)
    while True:
        yield rest


def _named(target: Callee, name: str) -> Hint:
    found = target.signature.parameters.get(name)
    if found is not None and found.kind is not Parameter.VAR_KEYWORD:
        return optional(found, target.hints.get(name, Any))
    rest = (p.name for p in target.signature.parameters.values() if p.kind is Parameter.VAR_KEYWORD)
    return target.hints.get(next(rest, ""), Any)


def _record(value: object, hint: Hint, name: str, strict: bool) -> Data:
    path = f"args.{name}"
    try:
        return to_data(value, hint, path=path, strict=strict)
    except InvalidValue:
        if not strict or is_plain(hint):
            raise
        try:  # a typed value in its JSON form
            data = copy(value)
            return to_data(from_data(data, hint, path=path, strict=True), hint, path=path, strict=True)
        except Refused:
            pass
        raise


def _problem(target: Callee, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """What is wrong with a call, in one sentence that names the parameter."""
    parameters = target.signature.parameters
    takes = f"its parameters are {target.signature.replace(return_annotation=inspect.Signature.empty)}"
    by_name = [n for n, p in parameters.items() if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    by_place = [
        n for n, p in parameters.items() if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    for name in kwargs:
        if name not in by_name and not any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
            return f"{target.name} has no parameter {name!r}{near(name, by_name)}; {takes}"
        if name in by_place[: len(args)] and name in by_name:
            return f"{target.name} got its parameter {name!r} twice, by place and by name; {takes}"
    for name, parameter in parameters.items():
        given = name in by_place[: len(args)] or (name in by_name and name in kwargs)
        variable = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if not given and not variable and parameter.default is Parameter.empty:
            return f"{target.name} needs its parameter {name!r}; {takes}"
    return f"{target.name} takes {len(by_place)} arguments by place but got {len(args)}; {takes}"
