"""The public names of ``flowli`` are frozen: one is added on purpose, with a line here and in the CHANGELOG."""

import ast
import importlib

import pytest

import flowli
from flowli._names import PUBLIC

FROZEN = {
    "CairnBackend",
    "Cancelled",
    "Consumer",
    "Context",
    "Defer",
    "Encryption",
    "Engine",
    "EngineConfig",
    "Execution",
    "ExecutionStatus",
    "Explanation",
    "Handler",
    "Inspection",
    "KeyRing",
    "MemoryBackend",
    "Moves",
    "NextAction",
    "NonRetryableError",
    "Pointers",
    "Registry",
    "Retention",
    "Retry",
    "RetryPolicy",
    "Site",
    "StepFailed",
    "Subscription",
    "Sweeper",
    "Timestamp",
    "ValueCodec",
    "Worker",
    "WorkflowProjection",
    "__version__",
    "check_cancelled",
    "connect",
    "heartbeat",
    "step_info",
}


def test_the_public_names_are_frozen():
    assert sorted(flowli.__all__) == sorted(FROZEN)


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_every_public_name_resolves(name):
    assert getattr(flowli, name) is not None
    assert name in dir(flowli)


def test_the_stub_tells_type_checkers_the_same(root):
    stub = ast.parse((root / "packages/flowli/src/flowli/__init__.pyi").read_text())
    told = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert told == {**PUBLIC, "__version__": "flowli._version"}


def test_an_unknown_name_is_an_attribute_error_with_near_names():
    with pytest.raises(AttributeError, match=r"module 'flowli' has no attribute 'Enigne'; did you mean 'Engine'"):
        _ = flowli.Enigne


def test_a_name_that_does_not_exist_cannot_be_imported():
    with pytest.raises(ImportError, match="cannot import name 'Enigne'"):
        exec("from flowli import Enigne", {})


@pytest.mark.parametrize("package", ["flowli_patterns", "flowli_api"])
def test_the_public_names_of_a_facade_are_those_of_its_distribution(package):
    public = importlib.import_module(f"{package}.public")
    facade = importlib.import_module(package.replace("_", "."))
    assert facade.__all__ == public.__all__
    assert [one for one in public.__all__ if not hasattr(facade, one)] == []
