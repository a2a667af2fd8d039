"""moto's S3 in a process of its own: ``python moto_app.py PORT``.

Writes go one at a time. moto compares and stores in two steps, and with threads two writers were seen to win one
If-Match; the real service has no such gap.
"""

import sys
import threading
from collections.abc import Iterable

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple


class OneWriterAtATime:
    def __init__(self, app) -> None:
        self._app = app
        self._lock = threading.Lock()

    def __call__(self, environ, start_response) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in ("PUT", "POST", "DELETE"):
            return self._app(environ, start_response)
        with self._lock:
            return list(self._app(environ, start_response))


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as by the real service

    def log(self, *_args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    app = OneWriterAtATime(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True, request_handler=Handler)
