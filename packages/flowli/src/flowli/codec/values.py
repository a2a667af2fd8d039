"""Values of workflow code, as data and back.

What a step returned is handed to the workflow as the copy that was read back from its data, on the first run as on
every replay: both see equal values of equal type. A value for which that cannot hold is refused when it is recorded.
"""

from __future__ import annotations

from typing import Any, cast

from flowli.codec.converter import converter
from flowli.codec.hints import Hint, is_plain
from flowli.codec.plain import Refused, certain, copy, located
from flowli.codec.same import check_same
from flowli.domain.data import Data

__all__ = ["encode", "from_data", "to_data"]


def to_data(value: object, hint: Hint = Any, *, path: str = "value", strict: bool = False) -> Data:
    """The JSON-compatible form of ``value``; it shares nothing changeable with it.

    Args:
        value: what to record.
        hint: the annotation under which it will be read back.
        path: how the error names ``value``.
        strict: plain values, too, must be of the annotated type.

    Raises:
        InvalidValue: it would not come back equal and of equal type; the error holds the path of the culprit.
    """
    return encode(value, hint, path=path, strict=strict)[0]


def encode(value: object, hint: Hint = Any, *, path: str = "value", strict: bool = False) -> tuple[Data, object]:
    """``to_data``, and the value as it will be read back: what the workflow gets, now and on every replay.

    Raises:
        InvalidValue: as ``to_data``.
    """
    try:
        if is_plain(hint) and not strict:
            return copy(value), copy(value)
        made = converter(strict)
        data = copy(made.unstructure(value, unstructure_as=hint))
        back = made.structure(data, cast("Any", hint))
        check_same(value, back)
    except Refused as refused:
        raise refused.invalid_value(path) from None
    except Exception as error:
        raise located(error).invalid_value(path) from error
    return data, back


def from_data(data: Data, hint: Hint = Any, *, path: str = "value", strict: bool = False) -> object:
    """The value that ``to_data`` recorded under the same hint; a new copy each time.

    Raises:
        InvalidValue: the data has another form than the hint asks for, for example since the annotation changed.
    """
    try:
        if is_plain(hint) and not strict:
            return data if certain(data) else copy(data)
        return converter(strict).structure(data, cast("Any", hint))
    except Refused as refused:
        raise refused.invalid_value(path) from None
    except Exception as error:
        raise located(error).invalid_value(path) from error
