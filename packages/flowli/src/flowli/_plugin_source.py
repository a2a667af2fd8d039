"""One plugin before it is trusted: importing it, finding its hooks, checking what they return.

Every error here names the plugin and its distribution.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace

import pluggy

from flowli import hookspecs
from flowli._suggest import near
from flowli.descriptors import DESCRIPTORS, Descriptor

__all__ = ["BLOCK", "Hooks", "PluginError", "Source", "hook_functions", "installed", "provided"]

BLOCK = "FLOWLI_PLUGINS_BLOCK"
"""The environment variable that leaves plugins out."""

_PLAIN: pluggy.HookimplOpts = {
    "wrapper": False,
    "hookwrapper": False,
    "optionalhook": False,
    "tryfirst": False,
    "trylast": False,
    "specname": None,
}


class PluginError(Exception):
    """A plugin cannot be used: broken, in collision with another, or not there.

    It stands beside the tree of ``flowli.domain.errors``, which loads asyncio; plugins are collected before all else.
    """


@dataclass(frozen=True, slots=True)
class Source:
    """Where a plugin comes from.

    Attributes:
        name: name of its entry point.
        distribution: name of the distribution that registers it.
        version: version of that distribution.
        module: what the entry point names.
        load: imports and returns the plugin.
    """

    name: str
    distribution: str
    version: str
    module: str
    load: Callable[[], object]

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.distribution} {self.version}"

    def loads_not(self, descriptor: Descriptor[object], error: Exception) -> str:
        """The sentence for a descriptor whose ``load`` raised ``error``."""
        thing = f"{type(descriptor).__name__} {descriptor.name!r} of {self.distribution} {self.version}"
        return f"{thing} does not load ({_short(error)}). Repair or uninstall {self.distribution}."


class Hooks(pluggy.PluginManager):
    """Takes every function named ``flowli_*`` for a hook, so that a misspelt one is an error and not silence.

    Modules and classes of such a name, imported into a plugin, are none.
    """

    def __init__(self) -> None:
        super().__init__("flowli")
        self.add_hookspecs(hookspecs)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Read the options of a function that is marked, and take the defaults for one that is not."""
        if not name.startswith("flowli_") or not inspect.isroutine(getattr(plugin, name, None)):
            return None
        return super().parse_hookimpl_opts(plugin, name) or _PLAIN


def installed() -> list[Source]:
    """Every entry point of the group ``flowli`` in this environment."""
    from importlib.metadata import entry_points

    return [
        Source(
            point.name,
            point.dist.name if point.dist else "an unnamed distribution",
            point.dist.version if point.dist else "of unknown version",
            point.value,
            point.load,
        )
        for point in entry_points(group="flowli")
    ]


def hook_functions(hooks: Hooks, source: Source) -> dict[str, Callable[[], object]]:
    """Import a plugin, register it and return its hook functions by the name of the hook.

    Raises:
        PluginError: it does not import, has a hook that does not exist, or a hook that takes arguments.
    """
    try:
        plugin = source.load()
    except Exception as error:
        raise PluginError(
            f"The {source} does not import {source.module} ({_short(error)}). {_remedy(source)}"
        ) from error
    try:
        hooks.register(plugin, source.name)
    except pluggy.PluginValidationError as error:
        wrong = [f"{name}{inspect.signature(getattr(plugin, name))}" for name in DESCRIPTORS if hasattr(plugin, name)]
        functions = ", ".join(one for one in wrong if "()" not in one)
        raise PluginError(
            f"The {source} declares {functions}; hooks take no arguments. "
            f"Remove them; settings belong into the load of a descriptor."
        ) from error
    except ValueError as error:
        raise PluginError(f"The {source} cannot be registered ({_short(error)}). {_remedy(source)}") from error
    functions_by_hook: dict[str, Callable[[], object]] = {}
    for caller in sorted(hooks.get_hookcallers(plugin) or (), key=lambda one: one.name):
        if not caller.has_spec():
            hint = near(caller.name, DESCRIPTORS, likeness=0.85) or ". The hooks are listed in flowli.hookspecs."
            raise PluginError(f"The {source} has the function {caller.name}, which is no hook of flowli{hint}")
        functions_by_hook[caller.name] = next(one.function for one in caller.get_hookimpls() if one.plugin is plugin)
    return functions_by_hook


def provided(source: Source, hook: str, function: Callable[[], object]) -> list[Descriptor[object]]:
    """Call one hook function and check what it returns.

    Returns:
        Its descriptors. A ``load`` of theirs that cannot import what it needs raises ``PluginError``.

    Raises:
        PluginError: it raises, or returns something else than a list of the hook's descriptors.
    """
    kind = DESCRIPTORS[hook]
    try:
        answer = function()
    except Exception as error:
        raise PluginError(f"{hook} in the {source} fails ({_short(error)}). {_remedy(source)}") from error
    descriptors = [one for one in answer if isinstance(one, kind)] if isinstance(answer, list) else []
    if not isinstance(answer, list) or len(descriptors) != len(answer):
        raise PluginError(f"{hook} in the {source} returns {answer!r}; return a list of {kind.__name__}.")
    return [replace(one, load=_importing(source, one)) for one in descriptors]


def _importing(source: Source, descriptor: Descriptor[object]) -> Callable[[], object]:
    def load() -> object:
        try:
            return descriptor.load()
        except ImportError as error:
            raise PluginError(source.loads_not(descriptor, error)) from error

    return load


def _remedy(source: Source) -> str:
    return f"Repair or uninstall {source.distribution}, or leave it out with {BLOCK}={source.name}."


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
