"""Forms: what a decision has to fill in, described so that everybody judges it alike, without the class.

A form is a dataclass whose fields are annotated ``str``, ``int``, ``float``, ``bool``, ``Decimal``, ``date``, a
``Literal`` or an ``Enum`` of texts, each perhaps ``| None``. A field with a default may be left out.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli_patterns.errors import FormRefused

__all__ = ["FormField", "check_form", "describe"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field.

    Attributes:
        kind: ``text``, ``integer``, ``number``, ``flag``, ``decimal``, ``date`` or ``choice``.
        required: it must be there.
        nullable: it may be null.
        choices: of a ``choice``.
    """

    name: str
    kind: str
    required: bool = True
    nullable: bool = False
    choices: tuple[str, ...] = ()


_KINDS: dict[object, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "flag",
    Decimal: "decimal",
    date: "date",
}


def describe(form: type | None) -> tuple[FormField, ...]:
    """The fields of a form.

    Raises:
        UsageError: it is no dataclass, or a field has another annotation than a form can have.
    """
    if form is None:
        return ()
    if not dataclasses.is_dataclass(form):
        raise UsageError(f"form {form!r} is no dataclass; give one, whose fields are what a decision fills in")
    hints = get_type_hints(form)
    return tuple(
        _field(form, one.name, hints[one.name], required=one.default is MISSING and one.default_factory is MISSING)
        for one in dataclasses.fields(form)
    )


def _field(form: type, name: str, hint: object, *, required: bool) -> FormField:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    nullable, rest = type(None) in options, [one for one in options if one is not type(None)]
    if len(rest) == 1:
        (kind,) = rest
        if kind in _KINDS:
            return FormField(name, _KINDS[kind], required, nullable)
        choices = _choices(kind)
        if choices:
            return FormField(name, "choice", required, nullable, choices)
    raise UsageError(
        f"field '{name}' of form {form.__name__} is annotated {hint}; use str, int, float, bool, Decimal, date, "
        "a Literal or an Enum of texts, each perhaps | None"
    )


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        found = get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        found = tuple(one.value for one in kind)
    else:
        return ()
    return found if all(isinstance(one, str) for one in found) else ()


def check_form(fields: tuple[FormField, ...], filled: Mapping[str, Data]) -> FormRefused | None:
    """What is wrong with a form as it was filled in; None if nothing is."""
    known = {one.name: one for one in fields}
    extra = [name for name in filled if name not in known]
    if extra:
        has = f"it has {', '.join(known)}" if known else "this review has no form"
        return FormRefused(f"the form has no field '{extra[0]}'; {has}")
    for one in fields:
        if one.name not in filled:
            if one.required:
                return FormRefused(f"field '{one.name}' of the form is missing; give a {_asked(one)}")
        elif not _fits(one, filled[one.name]):
            return FormRefused(f"field '{one.name}' of the form is {filled[one.name]!r}; give a {_asked(one)}")
    return None


def _asked(one: FormField) -> str:
    what = f"choice among {', '.join(one.choices)}" if one.kind == "choice" else one.kind
    return f"{what}, or null" if one.nullable else what


def _fits(one: FormField, value: Data) -> bool:
    if value is None:
        return one.nullable
    if one.kind == "choice":
        return value in one.choices
    return _CHECKS[one.kind](value)


def _is_decimal(value: Data) -> bool:
    try:
        return isinstance(value, str) and Decimal(value).is_finite()
    except InvalidOperation:
        return False


def _is_date(value: Data) -> bool:
    try:
        return isinstance(value, str) and len(value) == 10 and date.fromisoformat(value) is not None
    except ValueError:
        return False


_CHECKS: dict[str, Callable[[Data], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "flag": lambda value: isinstance(value, bool),
    "decimal": _is_decimal,
    "date": _is_date,
}
