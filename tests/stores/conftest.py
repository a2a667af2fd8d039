"""The five stores, three of them on emulators, and a place of its own on each for every test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowli.world import SYSTEM

from .emulators.azurite import azurite
from .emulators.fake_gcs import fake_gcs
from .emulators.moto_server import moto
from .emulators.process import Unavailable
from .emulators.proxy import Proxy, proxy
from .emulators.service import Service

EMULATORS = {"s3": moto, "az": azurite, "gs": fake_gcs}
STORES = ["memory", "file", *EMULATORS]


@pytest.fixture(scope="session")
def services() -> Iterator[Callable[[str], Service]]:
    """The emulator of a scheme, started when a test first asks for it, its credentials in the environment.

    Where it cannot be had, every test that asks for it fails with the reason.
    """
    running: dict[str, Service] = {}
    missing: dict[str, Unavailable] = {}
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())

        def get(scheme: str) -> Service:
            if scheme in missing:
                raise missing[scheme]
            if scheme not in running:
                try:
                    running[scheme] = service = stack.enter_context(EMULATORS[scheme]())
                except Unavailable as error:
                    missing[scheme] = error
                    raise
                for name, value in service.credentials.items():
                    patch.setenv(name, value)
            return running[scheme]

        yield get


@pytest.fixture(params=list(EMULATORS))
def service(request: pytest.FixtureRequest, services: Callable[[str], Service]) -> Service:
    """Each of the cloud stores."""
    return services(request.param)


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path, services: Callable[[str], Service]) -> str:
    """An empty place on each of the five stores."""
    if request.param == "memory":
        return f"memory:{SYSTEM.token()}"
    if request.param == "file":
        return f"file:{tmp_path}/bucket?durability=os"
    return services(request.param).url(SYSTEM.token())


@dataclass
class Gate:
    """One cloud store behind a proxy.

    Attributes:
        service: the emulator.
        proxy: what stands before it; a test sets its rule.
        prefix: where in the bucket this test is.
    """

    service: Service
    proxy: Proxy
    prefix: str

    def url(self, prefix: str = "", **settings: object) -> str:
        """The storage URL that leads through the proxy."""
        query = "".join(f"&{name}={value}" for name, value in settings.items())
        return self.service.url(f"{self.prefix}/{prefix}".strip("/"), origin=self.proxy.origin) + query


@pytest.fixture
def gate(service: Service) -> Iterator[Gate]:
    """Each of the cloud stores behind a proxy."""
    with proxy(service.port) as one:
        yield Gate(service, one, SYSTEM.token())


@pytest.fixture
def s3_gate(services: Callable[[str], Service]) -> Iterator[Gate]:
    """S3 behind a proxy."""
    service = services("s3")
    with proxy(service.port) as one:
        yield Gate(service, one, SYSTEM.token())
