from flowli.descriptors import AgentType
from flowli.plugins import discover, manager


def test_it_is_listed_with_its_adapters():
    plugin = next(one for one in discover().plugins if one.distribution == "flowli-runner")
    assert (plugin.name, plugin.problem) == ("runner", None)
    assert {name for hook, name in plugin.provides if hook == "flowli_agents"} == {
        "command",
        "claude-code",
        "codex",
        "http",
    }


def test_every_adapter_loads():
    assert all(callable(one.load()) for one in manager().all(AgentType).values())
