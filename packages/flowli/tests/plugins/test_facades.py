import importlib
import sys

import pytest

from flowli import _facade


@pytest.mark.parametrize("name", ["patterns", "api"])
def test_a_facade_without_its_distribution_says_what_to_install(monkeypatch, name):
    monkeypatch.delitem(sys.modules, f"flowli.{name}", raising=False)
    monkeypatch.setattr(_facade, "find_spec", lambda package: None)
    with pytest.raises(ModuleNotFoundError) as refused:
        importlib.import_module(f"flowli.{name}")
    assert str(refused.value) == (
        f"flowli.{name} is provided by the flowli-{name} distribution, which is not installed. "
        f"Run: pip install flowli-{name}"
    )
    assert refused.value.name == f"flowli_{name}"


def test_what_is_installed_is_not_refused():
    _facade.require("json", "flowli.json")
