"""Schemathesis on the OpenAPI document: whatever is sent, the answer is one that the document describes.

A small number of requests by default; ``FLOWLI_FUZZ_EXAMPLES=100`` makes thousands.
"""

import asyncio
import copy
import os

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from flowli import Engine, MemoryBackend, Site
from flowli_api.app import create_app
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig

from .conftest import PEOPLE, registry, token_of

FEW, MANY = 2, 100
EXAMPLES = int(os.environ.get("FLOWLI_FUZZ_EXAMPLES", FEW))
HEADERS = {"Authorization": f"Bearer {token_of('root')}"}


def made():
    engine = Engine(MemoryBackend().ports, Site.local("fuzzed"), registry=registry)
    known = StaticAuthenticator({token_of(name): one for name, one in PEOPLE.items()})
    # 413 is an answer too, but not one that the checks take for a refusal
    config = ApiConfig(rate_per_s=None, max_wait_s=0.01, poll_s=0.01, max_body_bytes=2**24)
    return create_app(engine, authenticator=known, config=config)


app = made()


def described():
    """The document without what it says of tokens: those have tests of their own."""
    document = copy.deepcopy(app.openapi())
    document["components"].pop("securitySchemes")
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return document


schema = schemathesis.openapi.from_dict(described())
schema.config.phases.coverage.enabled = EXAMPLES > FEW


@pytest.fixture(scope="module")
def send():
    """Sends a request to the service in this process, on one event loop."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    client = httpx.AsyncClient(transport=transport, base_url="http://flowli.test", headers=HEADERS)
    with asyncio.Runner() as runner:
        yield lambda request: runner.run(client.send(client.build_request(**request), stream=False))
        runner.run(client.aclose())
        assert EXAMPLES < MANY or sum(app.state.service.answered.values()) >= 5000
        runner.run(app.state.service.close())


@schema.exclude(path_regex="/events$").parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
    derandomize=EXAMPLES <= FEW,
)
def test_every_answer_is_one_that_the_document_describes(case, send):
    given = case.as_transport_kwargs(base_url="http://flowli.test", headers=HEADERS)
    request = {name: given[name] for name in ("method", "url", "headers", "params", "json", "data") if name in given}
    request["headers"] = [(name.encode(), str(value).encode()) for name, value in dict(given["headers"]).items()]
    if isinstance(request.get("data"), bytes):
        request["content"] = request.pop("data")
    case.validate_response(send(request))
