"""Errors as they are journaled: type, message and traceback text, equal on the live run and on every replay."""

from __future__ import annotations

import traceback

from flowli.domain.errors import ErrorInfo

__all__ = ["error_info"]

_MESSAGE_CHARS = 8_000
_TRACEBACK_CHARS = 16_000


def error_info(error: BaseException) -> ErrorInfo:
    """Describe an error; never raises, whatever its ``__str__`` does.

    The traceback begins where the user's code does, and a very long one keeps its end.
    """
    cls = type(error)
    return ErrorInfo(
        f"{cls.__module__}.{cls.__qualname__}",
        _clean(_message(error), _MESSAGE_CHARS),
        _clean(_trace(error), -_TRACEBACK_CHARS),
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:
        return f"<its message cannot be shown: {type(second).__name__}>"


def _trace(error: BaseException) -> str:
    first = error.__traceback__
    while first is not None and str(first.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "flowli":
        first = first.tb_next
    try:
        lines = traceback.format_exception(type(error), error, first or error.__traceback__)
    except Exception:
        return ""
    return "".join(lines)


def _clean(text: str, limit: int) -> str:
    """Text that UTF-8 can hold, cut to ``limit`` characters (its end, if negative)."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= abs(limit):
        return text
    return f"{text[:limit]}..." if limit > 0 else f"...{text[limit:]}"
