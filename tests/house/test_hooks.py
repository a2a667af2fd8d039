"""Every hook is documented, and its example works."""

import inspect
import re
import textwrap
from types import FunctionType, ModuleType

import pytest

from flowli import hookspecs
from flowli.descriptors import DESCRIPTORS
from flowli.plugins import Manager, Source

SPECS = {name: one for name, one in vars(hookspecs).items() if isinstance(one, FunctionType)}
ARCHITECTURE = {
    "flowli_agents",
    "flowli_api_routers",
    "flowli_authenticators",
    "flowli_backends",
    "flowli_codecs",
    "flowli_commands",
    "flowli_engine_extensions",
    "flowli_event_sinks",
    "flowli_event_sources",
    "flowli_explainers",
    "flowli_observers",
    "flowli_patterns",
    "flowli_stores",
    "flowli_sweep_jobs",
    "flowli_tools",
    "flowli_workflows",
}


def test_the_hooks_are_those_of_the_architecture():
    assert set(SPECS) == set(DESCRIPTORS) == ARCHITECTURE


@pytest.mark.parametrize("name", sorted(ARCHITECTURE))
def test_a_hook_says_when_what_who_and_since(name):
    text = inspect.getdoc(SPECS[name])
    for part in ["When: ``load`` runs ", "Result: ", "Implemented by: ", "Since: ", "Read by: ", "Example::"]:
        assert part in text, part
    assert f"``{DESCRIPTORS[name].__name__}`` descriptors" in text
    assert re.search(r"Since: \d+\.\d+\.\d+\.", text)


@pytest.mark.parametrize("name", sorted(ARCHITECTURE))
def test_a_hook_takes_no_arguments_and_returns_its_descriptors(name):
    signature = inspect.signature(SPECS[name])
    assert not signature.parameters
    assert signature.return_annotation == f"list[{DESCRIPTORS[name].__name__}]"


@pytest.mark.parametrize("name", sorted(ARCHITECTURE))
def test_the_example_of_a_hook_is_a_plugin_that_works(name):
    example = textwrap.dedent(inspect.getdoc(SPECS[name]).partition("Example::\n")[2])
    module = ModuleType("acme.plugin")
    vars(module).update({kind.__name__: kind for kind in DESCRIPTORS.values()})
    exec(example, vars(module))
    manager = Manager([Source("acme", "acme-dist", "1.0", "acme.plugin", lambda: module)])
    (descriptor,) = manager.all(DESCRIPTORS[name]).values()
    assert type(descriptor) is DESCRIPTORS[name]
    assert manager.plugins[0].provides == ((name, descriptor.name),)


@pytest.mark.parametrize("name", sorted(ARCHITECTURE))
def test_a_hook_says_truly_whether_this_version_reads_it(name, modules):
    kind = DESCRIPTORS[name].__name__
    givers = {"flowli.descriptors", "flowli.hookspecs", "flowli.cli.commands"}
    others = [one for one in modules if one.name not in givers and not one.name.endswith(".plugin")]
    readers = [one.name for one in others if re.search(rf"\b{kind}\b", one.text)]
    says_nothing = "Read by: nothing in this version yet." in inspect.getdoc(SPECS[name])
    assert says_nothing == (not readers), readers
