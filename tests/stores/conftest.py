"""The five stores, three of them on emulators, and a place of its own on each for every test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flowli.world import SYSTEM

from .emulators.azurite import azurite
from .emulators.fake_gcs import fake_gcs
from .emulators.moto_server import moto
from .emulators.service import Service

EMULATORS = {"s3": moto, "az": azurite, "gs": fake_gcs}
STORES = ["memory", "file", *EMULATORS]


@pytest.fixture(scope="session")
def services() -> Iterator[Callable[[str], Service]]:
    """The emulator of a scheme, started when a test first asks for it, its credentials in the environment."""
    running: dict[str, Service] = {}
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())

        def get(scheme: str) -> Service:
            if scheme not in running:
                running[scheme] = service = stack.enter_context(EMULATORS[scheme]())
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
