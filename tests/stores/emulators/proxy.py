"""A proxy on loopback between an SDK and an emulator, under the control of a test.

A rule is a function that is given each request and the way onward, and returns the answer to give; None cuts the
connection without an answer. So a rule can drop, delay, change or invent answers, or keep a request from arriving.
"""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]
_OF_ONE_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "expect"}


@dataclass(frozen=True)
class Asked:
    """A request: its target is path and query as sent."""

    method: str
    target: str
    headers: Headers = ()
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def writes(self) -> bool:
        return self.method in ("PUT", "POST", "DELETE")

    def without(self, *names: str) -> "Asked":
        return replace(self, headers=tuple(one for one in self.headers if one[0].lower() not in names))

    def without_query(self, name: str) -> "Asked":
        kept = "&".join(one for one in self.query.split("&") if one.partition("=")[0] != name)
        return replace(self, target=f"{self.path}?{kept}" if kept else self.path)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Headers = ()
    body: bytes = b""


Forward: TypeAlias = Callable[[Asked], Answer]
Rule: TypeAlias = Callable[[Asked, Forward], Answer | None]


def passing(asked: Asked, forward: Forward) -> Answer:
    return forward(asked)


class Proxy:
    """Listens on a free port.

    Args:
        upstream: port of the emulator.
        rule: for every request; it may be changed at any time, and may run in several threads at once.

    Attributes:
        asked: all requests so far.
    """

    def __init__(self, upstream: int, rule: Rule = passing) -> None:
        self.rule = rule
        self.asked: list[Asked] = []
        self._upstream = upstream
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle(self, asked: Asked) -> Answer | None:
        self.asked.append(asked)
        return self.rule(asked, self.forward)

    def forward(self, asked: Asked) -> Answer:
        onward = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=300)
        try:
            onward.putrequest(asked.method, asked.target, skip_host=True, skip_accept_encoding=True)
            for name, value in asked.headers:
                if name.lower() not in _OF_ONE_HOP:
                    onward.putheader(name, value)
            onward.putheader("Content-Length", str(len(asked.body)))
            onward.endheaders(asked.body or None)
            answer = onward.getresponse()
            return Answer(answer.status, tuple(answer.getheaders()), answer.read())
        finally:
            onward.close()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def proxy(upstream: int, rule: Rule = passing) -> Iterator[Proxy]:
    one = Proxy(upstream, rule)
    try:
        yield one
    finally:
        one.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no news."""


def _handler(owner: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do(self) -> None:
            asked = Asked(self.command, self.path, tuple(self.headers.items()), self._body())
            answer = owner.handle(asked)
            if answer is None:
                self.close_connection = True
                self.connection.close()
                return
            self.send_response_only(answer.status)  # headers are collected, and leave with end_headers
            for name, value in answer.headers:
                if name.lower() not in _OF_ONE_HOP:
                    self.send_header(name, value)
            length = {name.lower(): value for name, value in answer.headers}.get("content-length")
            told = length if asked.method == "HEAD" and length else str(len(answer.body))
            if answer.status not in (204, 304):
                self.send_header("Content-Length", told)
            self.end_headers()
            if asked.method != "HEAD":
                self.wfile.write(answer.body)
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.do)
    return Handler
