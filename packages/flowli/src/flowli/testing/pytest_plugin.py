"""The pytest plugin: the fixture ``flowli_env``, an open ``TestEnvironment``.

It is loaded by its entry point wherever flowli is installed, so it imports nothing before a fixture is asked for. The
workflows come from the fixture ``flowli_registry``, which a test module or ``conftest.py`` defines, or from the setting
``flowli_registry = "app:registry"`` of pytest's configuration. ``flowli_env`` needs pytest-asyncio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flowli.runtime import Registry
    from flowli.testing.env import TestEnvironment

__all__ = [
    "flowli_env",
    "flowli_registry",
    "pytest_addoption",
    "pytest_pyfunc_call",
    "pytest_terminal_summary",
]

_SETTING = "flowli_registry"
_COUNTED = "--flowli-requests"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting, and the options of the simulator and of the suites."""
    parser.addini(_SETTING, "MODULE:ATTR of the Registry that the fixture flowli_env runs", default="")
    told = "How much the simulator tries: small, default or full (FLOWLI_SIM_BUDGET)"
    parser.getgroup("flowli").addoption("--sim-budget", metavar="BUDGET", default=None, help=told)
    told = "End with a report of the requests that each promise of a suite of flowli.testing.suites costs"
    parser.getgroup("flowli").addoption(_COUNTED, action="store_true", help=told)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run the tests of the suites so that a failure names the promise that is broken."""
    __tracebackhide__ = True
    if not getattr(pyfuncitem.cls, "flowli_suite", False):
        return (yield)
    from flowli.testing.suites.running import run

    return (yield from run(pyfuncitem, counted=bool(pyfuncitem.config.getoption(_COUNTED))))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report of the requests."""
    if config.getoption(_COUNTED):
        from flowli.testing.suites.running import report

        reports = [one for some in terminalreporter.stats.values() for one in some]
        calls = [one for one in reports if getattr(one, "when", "") == "call"]
        properties = [pair for one in calls for pair in one.user_properties]
        if lines := report(properties):
            terminalreporter.section("requests of the promises")
            terminalreporter.write("\n".join(lines) + "\n")


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
