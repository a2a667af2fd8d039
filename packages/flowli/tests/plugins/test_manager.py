import itertools
import types
from types import ModuleType

import pluggy
import pytest

from flowli.descriptors import CommandType, ExplainerType, ObserverType, StoreType
from flowli.plugins import Manager, PluginError, PluginWarning, Source, UnknownStore


def store(name, load=object):
    return StoreType(name, "A store", load)


def stores(*names):
    return lambda: [store(name) for name in names]


def test_descriptors_of_every_plugin_are_found_by_kind_and_name(source):
    manager = Manager([source("two", flowli_stores=stores("b")), source("one", flowli_stores=stores("a"))])
    assert list(manager.all(StoreType)) == ["a", "b"]
    assert manager.all(StoreType)["b"].summary == "A store"
    assert manager.all(CommandType) == {}


def test_a_plugin_is_listed_with_its_distribution_version_and_what_it_provides(source):
    manager = Manager([source("one", "acme-one", "3.1", flowli_stores=stores("a", "b"))])
    (plugin,) = manager.plugins
    assert (plugin.name, plugin.distribution, plugin.version, plugin.module) == ("one", "acme-one", "3.1", "one.plugin")
    assert plugin.provides == (("flowli_stores", "a"), ("flowli_stores", "b"))


def test_a_marked_hook_counts_once(source):
    marked = pluggy.HookimplMarker("flowli")(stores("a"))
    assert list(Manager([source("one", flowli_stores=marked)]).all(StoreType)) == ["a"]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_name_given_twice_names_both_distributions_in_any_order(source, order):
    plugins = [
        source("one", "acme-one", flowli_stores=stores("ftp")),
        source("two", "acme-two", flowli_stores=stores("ftp")),
        source("three", flowli_stores=stores("other")),
    ]
    with pytest.raises(PluginError) as refused:
        Manager([plugins[at] for at in order])
    assert str(refused.value) == (
        "flowli_stores is given 'ftp' twice: by plugin 'one' of acme-one 1.0 and by plugin 'two' of acme-two 1.0. "
        "Uninstall one of them, or leave it out with FLOWLI_PLUGINS_BLOCK=two."
    )


def test_a_name_given_twice_by_one_plugin_is_refused(source):
    with pytest.raises(PluginError, match=r"is given 'a' twice: by plugin 'one' of one-dist 1\.0 and by plugin 'one'"):
        Manager([source("one", flowli_stores=stores("a", "a"))])


def test_one_name_under_two_hooks_is_no_collision(source):
    commands = [CommandType("a", "A command", object)]
    manager = Manager([source("one", flowli_stores=stores("a"), flowli_commands=lambda: commands)])
    assert set(manager.all(StoreType)) == set(manager.all(CommandType)) == {"a"}


@pytest.mark.parametrize("flip", [False, True])
def test_two_plugins_of_one_name_are_refused_naming_both_distributions(source, flip):
    pair = [source("one", "acme-one", "1.0"), source("one", "acme-two", "2.0")]
    with pytest.raises(PluginError) as refused:
        Manager(reversed(pair) if flip else pair)
    assert str(refused.value) == (
        "Two plugins are named 'one': one of acme-one 1.0, one of acme-two 2.0. Uninstall one of the two distributions."
    )


def test_an_unknown_hook_is_refused_with_a_suggestion(source):
    with pytest.raises(PluginError) as refused:
        Manager([source("one", flowli_store=stores("a"))])
    assert str(refused.value) == (
        "The plugin 'one' of one-dist 1.0 has the function flowli_store, which is no hook of flowli; "
        "did you mean 'flowli_stores'?"
    )


def test_an_unknown_hook_without_a_near_name_says_where_hooks_are_listed(source):
    with pytest.raises(PluginError, match=r"flowli_xyzzy, which is no hook of flowli\. The hooks are listed in"):
        Manager([source("one", flowli_xyzzy=stores("a"))])


def test_an_imported_module_or_class_is_not_taken_for_a_hook(source):
    manager = Manager([source("one", flowli_cairn=ModuleType("flowli_cairn"), flowli_thing=StoreType)])
    assert manager.plugins[0].problem is None


def test_a_hook_that_takes_arguments_is_refused(source):
    with pytest.raises(PluginError) as refused:
        Manager([source("one", flowli_stores=lambda config: [])])
    assert str(refused.value) == (
        "The plugin 'one' of one-dist 1.0 declares flowli_stores(config); hooks take no arguments. "
        "Remove them; settings belong into the load of a descriptor."
    )


def test_a_plugin_that_does_not_import_names_its_distribution_and_how_to_go_on():
    def broken():
        raise ModuleNotFoundError("No module named 'boto3'")

    with pytest.raises(PluginError) as refused:
        Manager([Source("one", "acme-one", "1.0", "acme.plugin", broken)])
    assert str(refused.value) == (
        "The plugin 'one' of acme-one 1.0 does not import acme.plugin (ModuleNotFoundError: No module named 'boto3'). "
        "Repair or uninstall acme-one, or leave it out with FLOWLI_PLUGINS_BLOCK=one."
    )
    assert isinstance(refused.value.__cause__, ModuleNotFoundError)


def test_one_module_under_two_names_is_refused(source):
    first = source("one")
    with pytest.raises(PluginError, match=r"The plugin 'zwei' of zwei-dist 1\.0 cannot be registered"):
        Manager([first, Source("zwei", "zwei-dist", "1.0", first.module, first.load)])


def raises():
    raise RuntimeError("no such thing")


def test_a_broken_store_hook_stops(source):
    with pytest.raises(
        PluginError, match=r"flowli_stores in the plugin 'one' of one-dist 1\.0 fails \(RuntimeError: no"
    ):
        Manager([source("one", flowli_stores=raises)])


@pytest.mark.parametrize("hook", ["flowli_observers", "flowli_explainers"])
def test_a_broken_observer_hook_is_reported_and_skipped(source, hook):
    with pytest.warns(PluginWarning, match=rf"{hook} in the plugin 'one' of one-dist 1\.0 fails .* is left out"):
        manager = Manager([source("one", flowli_stores=stores("a"), **{hook: raises})])
    assert list(manager.all(StoreType)) == ["a"]


@pytest.mark.parametrize("answer", [None, "file", store("a"), [object()], [CommandType("a", "b", object)]])
def test_a_hook_that_returns_something_else_is_refused(source, answer):
    with pytest.raises(PluginError, match=r"flowli_stores in the plugin 'one'.*; return a list of StoreType\."):
        Manager([source("one", flowli_stores=lambda: answer)])


def test_a_descriptor_with_a_bad_name_stops_naming_the_distribution(source):
    with pytest.raises(PluginError, match=r"of one-dist 1\.0 fails \(ValueError: StoreType has the name 'S 3'; use"):
        Manager([source("one", flowli_stores=lambda: [store("S 3")])])


def test_a_blocked_plugin_is_not_imported_but_listed():
    def broken():
        raise AssertionError("imported")

    manager = Manager([Source("one", "acme-one", "1.0", "acme.plugin", broken)], block=["one"])
    assert manager.plugins[0].blocked
    assert manager.all(StoreType) == {}


def test_a_plugin_is_blocked_by_the_name_of_its_distribution_too(source):
    assert Manager([source("one", "acme-one", flowli_stores=stores("a"))], block=["acme-one"]).all(StoreType) == {}


def test_blocking_what_is_not_installed_is_reported(source):
    with pytest.warns(PluginWarning, match=r"FLOWLI_PLUGINS_BLOCK names 'on', which is no installed plugin\."):
        Manager([source("one")], block=["on"])


def test_for_a_listing_broken_plugins_are_kept_with_their_problem(source):
    manager = Manager(
        [
            source("one", "acme-one", flowli_stores=stores("ftp", "good")),
            source("one", "acme-two", flowli_stores=stores("b")),
            source("three", flowli_stores=stores("ftp", "c")),
            source("four", flowli_typo=stores("d")),
        ],
        strict=False,
    )
    assert list(manager.all(StoreType)) == ["ftp", "good"]
    problems = {(plugin.name, plugin.distribution): plugin.problem or "" for plugin in manager.plugins}
    assert problems[("one", "acme-one")] == ""
    assert "Two plugins are named 'one'" in problems[("one", "acme-two")]
    assert "is given 'ftp' twice" in problems[("three", "three-dist")]
    assert "no hook of flowli" in problems[("four", "four-dist")]


def test_a_load_without_its_sdk_names_the_distribution(source):
    def load():
        raise ImportError("No module named 'boto3'")

    manager = Manager([source("one", "acme-one", flowli_stores=lambda: [store("a", load)])])
    with pytest.raises(PluginError) as refused:
        manager.find_store("a").load()
    assert str(refused.value) == (
        "StoreType 'a' of acme-one 1.0 does not load (ImportError: No module named 'boto3'). "
        "Repair or uninstall acme-one."
    )


def test_another_error_of_a_load_reaches_the_caller_unchanged(source):
    manager = Manager([source("one", flowli_stores=lambda: [store("a", raises)])])
    with pytest.raises(RuntimeError, match="no such thing"):
        manager.find_store("a").load()


def test_of_several_observers_the_broken_one_is_left_out(source):
    observers = [ObserverType("bad", "Fails", raises), ObserverType("good", "Works", lambda: "seen")]
    manager = Manager([source("one", flowli_observers=lambda: observers)])
    with pytest.warns(PluginWarning, match=r"ObserverType 'bad' of one-dist 1\.0 does not load \(RuntimeError"):
        assert manager.load_each(ObserverType) == {"good": "seen"}


def test_of_several_commands_a_broken_one_stops(source):
    manager = Manager([source("one", flowli_commands=lambda: [CommandType("bad", "Fails", raises)])])
    with pytest.raises(PluginError, match=r"CommandType 'bad' of one-dist 1\.0 does not load"):
        manager.load_each(CommandType)


@pytest.mark.parametrize(
    ("scheme", "distribution"), [("s3", "flowli-cairn-s3"), ("az", "flowli-cairn-azure"), ("gs", "flowli-cairn-gcs")]
)
def test_a_store_of_a_distribution_that_is_missing_says_what_to_install(scheme, distribution):
    with pytest.raises(UnknownStore) as refused:
        Manager([]).find_store(scheme)
    assert str(refused.value) == (
        f"No store is named {scheme!r}: {distribution}, which provides it, is not installed. "
        f"Run: pip install {distribution}"
    )


def test_a_store_whose_distribution_is_blocked_says_so(source):
    manager = Manager([source("s3", "flowli-cairn-s3", flowli_stores=stores("s3"))], block=["s3"])
    with pytest.raises(UnknownStore, match=r"is blocked\. Take it out of FLOWLI_PLUGINS_BLOCK\."):
        manager.find_store("s3")


def test_an_unknown_store_proposes_near_names(source):
    with pytest.raises(UnknownStore) as refused:
        Manager([source("one", flowli_stores=stores("file", "memory"))]).find_store("flie")
    assert str(refused.value) == "No store is named 'flie'; did you mean 'file'? Installed: file, memory."


def test_an_explainer_is_a_value_that_cannot_be_changed():
    explainer = ExplainerType("a", "One line", object)
    with pytest.raises(AttributeError):
        explainer.name = "b"  # type: ignore[misc]
    assert isinstance(type(explainer).name, types.MemberDescriptorType)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("Big", "x", object), "has the name 'Big'"),
        (("", "x", object), "has the name ''"),
        (("a", " ", object), "write one line"),
        (("a", "two\nlines", object), "write one line"),
    ],
)
def test_a_descriptor_with_a_bad_name_or_summary_is_refused(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        StoreType(*arguments)


def test_a_descriptor_whose_load_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="cannot be called"):
        StoreType("a", "x", None)
