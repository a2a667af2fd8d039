"""Reading the errors of SDKs, which wrap those of their libraries."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["causes", "failing", "one_line"]


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it wraps, however its libraries hand them on."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.append(one)
        yield one
        inner = [*one.args, getattr(one, "reason", None), getattr(one, "inner_exception", None), one.__cause__]
        waiting += [each for each in inner if isinstance(each, BaseException)]


def failing(status: int) -> bool:
    """Whether a status of HTTP says that the service failed, so that trying again may help."""
    return status >= 500 and status not in (501, 507)


def one_line(error: BaseException) -> str:
    """What an error says, on one line and without its full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
