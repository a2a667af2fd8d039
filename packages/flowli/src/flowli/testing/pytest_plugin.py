"""The pytest plugin: the fixture ``flowli_env``, an open ``TestEnvironment``.

It is loaded by its entry point wherever flowli is installed, so it imports nothing before a fixture is asked for. The
workflows come from the fixture ``flowli_registry``, which a test module or ``conftest.py`` defines, or from the setting
``flowli_registry = "app:registry"`` of pytest's configuration. ``flowli_env`` needs pytest-asyncio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flowli.runtime import Registry
    from flowli.testing.env import TestEnvironment

__all__ = ["flowli_env", "flowli_registry", "pytest_addoption"]

_SETTING = "flowli_registry"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting, and the option of the simulator."""
    parser.addini(_SETTING, "MODULE:ATTR of the Registry that the fixture flowli_env runs", default="")
    told = "How much the simulator tries: small, default or full (FLOWLI_SIM_BUDGET)"
    parser.getgroup("flowli").addoption("--sim-budget", metavar="BUDGET", default=None, help=told)


@pytest.fixture
def flowli_registry(request: pytest.FixtureRequest) -> Registry:
    """The workflows of ``flowli_env``; define a fixture of this name, or name a Registry in the configuration."""
    target = str(request.config.getini(_SETTING))
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise pytest.UsageError(
            f"flowli_env needs workflows: define a fixture named {_SETTING} that returns a Registry, or set "
            f'{_SETTING} = "module:attr" in the configuration of pytest'
        )
    found: Registry = getattr(import_module(module), attribute)
    return found


async def _environment(flowli_registry: Registry) -> AsyncIterator[TestEnvironment]:
    """An environment for the workflows of ``flowli_registry``; at the end of the test every journal is replayed."""
    from flowli.testing.env import TestEnvironment

    async with TestEnvironment(flowli_registry) as env:
        yield env


def _async_fixture() -> Callable[..., Any]:
    try:
        from pytest_asyncio import fixture
    except ImportError:

        def missing() -> None:
            """Says what is missing."""
            raise pytest.UsageError("flowli_env needs pytest-asyncio; run: pip install 'flowli[testing]'")

        return pytest.fixture(name="flowli_env")(missing)
    made: Callable[..., Any] = fixture(name="flowli_env")(_environment)
    return made


flowli_env = _async_fixture()
