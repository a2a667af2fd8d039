"""``Traces``: spans by OpenTelemetry, over processes: starts, children, messages, delegates, attempts, executions.

What is put carries the context of the span that put it, in W3C form; whoever takes it makes a span under that one.
An execution outlives processes, so that no span can be open as long as it: its span is made when it ends, and linked
to those of its spans that this process has made. Replay makes none: only what is done makes one.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowli._version import __version__
from flowli.domain.errors import UsageError
from flowli.domain.ids import Eid
from flowli.runtime.observe.trace_context import current_trace, joined, parted
from flowli.runtime.observe.tracer import Role, Span, Tracer, Work
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, SpanContext, TracerProvider
    from opentelemetry.trace import Span as OtelSpan

__all__ = ["Traces"]

_EXECUTIONS, _LINKS = 10_000, 64


class Traces(Tracer):
    """Give it to ``Engine(..., observers=[Traces()])`` and to ``Consumer(..., tracer=Traces())``.

    Args:
        provider: makes the spans; None for the global one, which the application sets up.

    Raises:
        UsageError: opentelemetry-api is not installed.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError:
            raise UsageError(
                "traces go through opentelemetry-api, which is not installed. Run: pip install 'flowli[otel]'"
            ) from None
        self._tracer = trace.get_tracer("flowli", __version__, provider)
        self._propagator = TraceContextTextMapPropagator()
        self._kinds = {
            Role.INTERNAL: trace.SpanKind.INTERNAL,
            Role.PRODUCER: trace.SpanKind.PRODUCER,
            Role.CONSUMER: trace.SpanKind.CONSUMER,
        }
        self._made: OrderedDict[Eid, deque[SpanContext]] = OrderedDict()

    @contextlib.contextmanager
    def around(self, work: Work) -> Iterator[Span]:
        """A span that is the current one inside."""
        from opentelemetry import context, trace

        span = self._begin(work, None)
        inside = trace.set_span_in_context(span, context.get_current())
        token = context.attach(inside)
        try:
            yield _Made(span, self._text(inside) or work.parent)
        except Exception as error:
            _fail(span, f"{type(error).__module__}.{type(error).__qualname__}")
            raise
        finally:
            context.detach(token)
            span.end()

    def past(self, work: Work, began: Timestamp, ended: Timestamp, error_type: str = "") -> None:
        """A span between two instants."""
        span = self._begin(work, began)
        if error_type:
            _fail(span, error_type)
        span.end(ended.us * 1000)

    def _begin(self, work: Work, began: Timestamp | None) -> OtelSpan:
        span = self._tracer.start_span(
            work.name,
            context=self._parent(work),
            kind=self._kinds[work.role],
            attributes=dict(work.attributes),
            links=self._links(work),
            start_time=None if began is None else began.us * 1000,
        )
        if work.eid is not None and not work.whole and span.get_span_context().is_valid:
            made = self._made.setdefault(work.eid, deque(maxlen=_LINKS))
            made.append(span.get_span_context())
            self._made.move_to_end(work.eid)
            if len(self._made) > _EXECUTIONS:
                self._made.popitem(last=False)
        return span

    def _parent(self, work: Work) -> Context:
        from opentelemetry import context, trace

        if not work.parent and work.eid is not None:
            return trace.set_span_in_context(_stand_in(work.eid), context.Context())
        if not work.parent or work.parent == current_trace():
            return context.get_current()
        return self._propagator.extract(parted(work.parent), context.Context())

    def _links(self, work: Work) -> list[Link]:
        from opentelemetry import context, trace

        found = [
            trace.get_current_span(self._propagator.extract(parted(one), context.Context())).get_span_context()
            for one in work.links
        ]
        if work.whole and work.eid is not None:
            found.extend(self._made.pop(work.eid, ()))
        return [trace.Link(one) for one in found if one.is_valid]

    def _text(self, inside: Context) -> str:
        headers = dict[str, str]()
        self._propagator.inject(headers, inside)
        return joined(headers.get("traceparent", ""), headers.get("tracestate", ""))


class _Made(Span):
    def __init__(self, span: OtelSpan, trace: str) -> None:
        super().__init__(trace)
        self._span = span

    def note(self, name: str, value: str | int) -> None:
        self._span.set_attribute(name, value)

    def failed(self, error_type: str) -> None:
        _fail(self._span, error_type)


def _fail(span: OtelSpan, error_type: str) -> None:
    """The class alone: messages of errors may hold what is not for those who see traces."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR, error_type))


def _stand_in(eid: Eid) -> OtelSpan:
    """The parent of the spans of an execution that nobody traced when it was started: one trace for all of them."""
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

    span_id = int.from_bytes(hashlib.sha256(eid.bytes).digest()[:8], "big") or 1
    return NonRecordingSpan(SpanContext(eid.int, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
