import re
import sys
from pathlib import Path
from types import ModuleType

import flowli.patterns
import flowli_patterns.public
from flowli.descriptors import PatternType
from flowli.plugins import discover, manager
from flowli.testing.env import TestEnvironment


def test_it_is_listed_with_all_that_it_provides():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-patterns")
    assert (plugin.name, plugin.problem) == ("patterns", None)
    patterns = {name for hook, name in plugin.provides if hook == "flowli_patterns"}
    assert {"delegate", "fan_out", "on_tick", "review", "saga"} <= patterns
    assert patterns <= set(flowli_patterns.public.__all__)


def test_every_pattern_loads_as_its_public_function():
    for name, pattern in manager().all(PatternType).items():
        if hasattr(flowli_patterns.public, name):
            assert pattern.load() is getattr(flowli.patterns, name)


def test_the_facade_shows_the_public_names_of_this_distribution():
    assert flowli.patterns.__all__ is flowli_patterns.public.__all__
    assert all(
        getattr(flowli.patterns, one) is getattr(flowli_patterns.public, one) for one in flowli_patterns.public.__all__
    )


async def test_the_example_of_the_readme_runs(monkeypatch):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    page = ModuleType("readme_page")
    monkeypatch.setitem(sys.modules, "readme_page", page)
    exec(re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1], page.__dict__)
    async with TestEnvironment(page.registry) as env:
        assert await env.run(page.book_trip, ["Oslo", "Rome"]) == ["room in Oslo", "room in Rome"]


def test_the_readme_names_every_pattern():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    assert [
        name for name in manager().all(PatternType) if f"`{name}" not in text and name in flowli_patterns.public.__all__
    ] == []
