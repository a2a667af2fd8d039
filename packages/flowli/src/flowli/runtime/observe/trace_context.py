"""W3C trace context as text: what stands in ``Provenance.trace``, and what the code that calls carries.

The text is a ``traceparent``, and behind a blank a ``tracestate`` if there is one. OpenTelemetry is asked only where
the application has loaded it already; nothing here imports it.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
import sys
from collections.abc import Iterator

__all__ = ["carried", "current_trace", "joined", "parted"]

_PARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_STATE_CHARS = 512

_carried: contextvars.ContextVar[str] = contextvars.ContextVar("flowli_trace", default="")


def joined(traceparent: str, tracestate: str = "") -> str:
    """The text of a context; "" if ``traceparent`` is none. A ``tracestate`` over 512 characters is left out."""
    if not _PARENT.fullmatch(traceparent) or traceparent.startswith("ff"):
        return ""
    if not tracestate or len(tracestate) > _STATE_CHARS or not tracestate.isprintable():
        return traceparent
    return f"{traceparent} {tracestate}"


def parted(trace: str) -> dict[str, str]:
    """The headers of a context, by lower-case name: none, one or two. For whoever calls another service."""
    parent, _, state = trace.partition(" ")
    if not parent:
        return {}
    return {"traceparent": parent, "tracestate": state} if state else {"traceparent": parent}


@contextlib.contextmanager
def carried(traceparent: str, tracestate: str = "") -> Iterator[None]:
    """What is started or sent inside belongs to this trace: for hosts without OpenTelemetry that got the headers.

    Example:
        >>> with carried(request.headers.get("traceparent", "")):
        ...     await engine.start(checkout, order)
    """
    token = _carried.set(joined(traceparent, tracestate))
    try:
        yield
    finally:
        _carried.reset(token)


def current_trace() -> str:
    """The context of the caller: that of its current span, else what is ``carried``, else ""."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return _carried.get()
    context = api.get_current_span().get_span_context()
    if not context.is_valid:
        return _carried.get()
    parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
    return joined(parent, context.trace_state.to_header())
