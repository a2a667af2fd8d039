import pytest

from flowli import plugins
from flowli.descriptors import CommandType, StoreType
from flowli.plugins import PluginError, discover, find_store, manager


def test_the_core_registers_through_the_same_door():
    core = next(one for one in discover().plugins if one.distribution == "flowli")
    assert (core.name, core.module) == ("core", "flowli.plugin")
    assert {("flowli_stores", "file"), ("flowli_stores", "memory"), ("flowli_commands", "worker")} <= set(core.provides)


def test_plugins_are_collected_once_per_process():
    assert manager() is manager()
    assert set(manager().all(StoreType)) >= {"file", "memory"}


@pytest.mark.parametrize(("scheme", "name"), [("file", "FilesystemStore"), ("memory", "MemoryStore")])
def test_the_stores_of_the_core_load(scheme, name):
    factory = find_store(scheme).load()
    assert factory.__name__ == name
    assert callable(factory.from_url)
    assert callable(factory.from_config)


def test_every_command_of_the_core_loads():
    for command in manager().all(CommandType).values():
        assert command.load().name == command.name


def test_the_environment_blocks_plugins(monkeypatch):
    monkeypatch.setenv(plugins.BLOCK, " core , ")
    assert next(one for one in discover().plugins if one.name == "core").blocked
    assert "file" not in discover().all(StoreType)


def test_a_core_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setattr(plugins, "installed", list)
    with pytest.raises(PluginError, match="flowli is imported but not installed here"):
        discover()
