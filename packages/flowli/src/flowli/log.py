"""Logging: structlog and the standard library through one handler, in one form.

Plain text when the output is piped, coloured on a terminal, JSON on request. Whatever is logged inside an execution
carries its ``eid``, inside a step also ``fid`` and ``attempt``, in threads too: context variables hold them.
"""

from __future__ import annotations

import contextvars
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, ParamSpec, TypeVar, cast
from uuid import UUID

import orjson
import structlog
from structlog.typing import EventDict, Processor

from flowli.world import SYSTEM, World

__all__ = ["LEVELS", "bound", "configure", "keeping_context"]

P = ParamSpec("P")
T = TypeVar("T")

LEVELS = ("debug", "info", "warning", "error", "critical")
"""The levels, from most to least said."""

_HANDLER = "flowli"


def configure(*, level: str = "info", json: bool = False, stream: IO[str] | None = None, world: World = SYSTEM) -> None:
    """Set up logging for this process; calling it again replaces the set-up.

    For processes that are flowli's own. An application with a set-up of its own does not call it.

    Args:
        level: one of ``LEVELS``.
        json: one JSON object a line instead of text.
        stream: where lines go; standard error by default.
        world: the clock of the lines.

    Raises:
        ValueError: there is no such level.
    """
    if level.lower() not in LEVELS:
        raise ValueError(f"there is no log level {level!r}; use one of {', '.join(LEVELS)}")
    number = logging.getLevelNamesMapping()[level.upper()]
    # not through the stream that collects what steps print: it would be collected twice
    out = cast("IO[str]", stream or getattr(sys.stderr, "untapped", sys.stderr))
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _stamping(world),
    ]
    structlog.configure(
        processors=[
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.set_name(_HANDLER)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_rendering(json, out))
    )
    root = logging.getLogger()
    for old in [one for one in root.handlers if one.get_name() == _HANDLER]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(number)


@contextmanager
def bound(eid: UUID | str, fid: str | None = None, attempt: int | None = None, **more: object) -> Iterator[None]:
    """Bind what is logged inside to an execution, a frame, an attempt."""
    given = {"eid": str(eid), "fid": fid, "attempt": attempt, **more}
    with structlog.contextvars.bound_contextvars(**{name: value for name, value in given.items() if value is not None}):
        yield


def keeping_context(fn: Callable[P, T]) -> Callable[P, T]:
    """The same function, to be run in another thread with the bindings of here and now."""
    return partial(contextvars.copy_context().run, fn)


def _stamping(world: World) -> Processor:
    def stamp(_: Any, __: str, event: EventDict) -> EventDict:
        event["timestamp"] = str(world.now())
        return event

    return stamp


def _rendering(json: bool, out: IO[str]) -> list[Processor]:
    drop = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if json:
        return [drop, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_to_json)]
    colours = out.isatty() and not os.environ.get("NO_COLOR")
    plain = structlog.dev.plain_traceback
    return [drop, structlog.dev.ConsoleRenderer(colors=colours, pad_event_to=0, exception_formatter=plain)]


def _to_json(event: object, **options: Any) -> str:
    return orjson.dumps(event, default=options.get("default", repr), option=orjson.OPT_NON_STR_KEYS).decode()
