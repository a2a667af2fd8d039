"""A collector of OTLP over HTTP in this process: keeps the spans that it is sent."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


@dataclass(frozen=True)
class Received:
    """A span as it came over the wire."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    failed: bool
    began_ns: int
    ended_ns: int
    links: tuple[str, ...]
    told: dict[str, str | int]


@dataclass
class Collector:
    """What came; ``provider`` makes spans that come here."""

    port: int
    provider: TracerProvider
    bodies: list[bytes] = field(default_factory=list)

    def spans(self) -> list[Received]:
        """Everything that has ended by now."""
        assert self.provider.force_flush()
        found = list[Received]()
        for body in self.bodies:
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    found.extend(received(span) for span in scope.spans)
        return found

    def named(self, name: str) -> list[Received]:
        """The spans of one name."""
        return [span for span in self.spans() if span.name == name]

    def one(self, name: str) -> Received:
        """The only span of its name."""
        (found,) = self.named(name)
        return found


def received(span: object) -> Received:
    return Received(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.status.code == 2,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        tuple(link.span_id.hex() for link in span.links),
        {one.key: one.value.string_value or one.value.int_value for one in span.attributes},
    )


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector while the block runs."""
    bodies = list[bytes]()

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *told: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    port = server.server_address[1]
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"http://127.0.0.1:{port}/v1/traces")))
    try:
        yield Collector(port, provider, bodies)
    finally:
        provider.shutdown()
        server.shutdown()
        thread.join()
        server.server_close()
