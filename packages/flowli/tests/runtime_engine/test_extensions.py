"""What plugins add to an engine."""

import pytest

from flowli import Engine, MemoryBackend, Site, plugins
from flowli.descriptors import EngineExtensionType
from flowli.plugins import Manager, Source


class Votes:
    def __init__(self, engine):
        self.engine = engine


class Plugin:
    @staticmethod
    def flowli_engine_extensions() -> list[EngineExtensionType]:
        return [EngineExtensionType("votes", "Open and count votes", lambda: Votes)]


@pytest.fixture
def engine(monkeypatch) -> Engine:
    sources = [Source("votes", "acme-votes", "1.0", "acme.plugin", lambda: Plugin)]
    monkeypatch.setattr(plugins, "manager", lambda: Manager(sources))
    return Engine(MemoryBackend().ports, Site("w-1"))


def test_an_extension_is_made_for_the_engine_when_it_is_first_read(engine):
    assert isinstance(engine.votes, Votes)
    assert engine.votes.engine is engine
    assert engine.votes is engine.votes


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("vots", r"an engine has no attribute 'vots'; did you mean 'votes'\?"),
        ("strat", r"did you mean 'start' or 'status'\?"),
        ("reviews", "engine.reviews is provided by the flowli-patterns distribution, which is not installed"),
        ("_votes", "an engine has no attribute '_votes'"),
    ],
)
def test_what_nobody_provides_is_an_attribute_error_with_a_hint(engine, name, told):
    assert not hasattr(engine, name)
    with pytest.raises(AttributeError, match=told):
        getattr(engine, name)
