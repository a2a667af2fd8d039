"""Finds plugins, checks them, and hands out what they provide.

Every distribution registers one light module under the entry point group ``flowli``; the core does the same. The
manager collects all descriptors once, so that a collision is known at start and not in the middle of work::

    find_store("s3").load().from_url("s3://bucket", world=SYSTEM)
    manager().all(CommandType)

What goes wrong is one sentence that names the distribution and says what to do. ``FLOWLI_PLUGINS_BLOCK`` holds names of
plugins (or of their distributions), separated by commas, that are left out.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from flowli._plugin_source import BLOCK, Hooks, PluginError, Source, hook_functions, installed, provided
from flowli._suggest import near
from flowli.descriptors import DESCRIPTORS, Descriptor, StoreType

__all__ = [
    "BLOCK",
    "Manager",
    "Plugin",
    "PluginError",
    "PluginWarning",
    "Source",
    "UnknownStore",
    "discover",
    "find_store",
    "manager",
]

_SKIPPED_WHEN_BROKEN = frozenset({"flowli_observers", "flowli_explainers"})
_STORES_ELSEWHERE = {"s3": "flowli-cairn-s3", "az": "flowli-cairn-azure", "gs": "flowli-cairn-gcs"}

D = TypeVar("D", bound=Descriptor[object])
T = TypeVar("T")


class UnknownStore(PluginError):
    """No installed plugin provides a store of that name."""


class PluginWarning(UserWarning):
    """A plugin, or part of one, was left out, and work goes on without it."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin as ``flowli plugins`` lists it.

    Attributes:
        name: name of its entry point.
        distribution: name of the distribution that registers it.
        version: version of that distribution.
        module: what the entry point names.
        provides: (hook, name of a descriptor) for all that it provides.
        blocked: left out by ``FLOWLI_PLUGINS_BLOCK``.
        problem: the sentence about what is wrong with it; None if nothing is.
    """

    name: str
    distribution: str
    version: str
    module: str
    provides: tuple[tuple[str, str], ...] = ()
    blocked: bool = False
    problem: str | None = None


class Manager:
    """The plugins of a process and what they provide."""

    def __init__(self, sources: Iterable[Source], *, block: Collection[str] = (), strict: bool = True) -> None:
        """Collect everything.

        Args:
            sources: the plugins; their order does not matter.
            block: names of plugins or of distributions to leave out.
            strict: raise at the first broken plugin. Otherwise it is left out with its ``Plugin.problem`` set.

        Raises:
            PluginError: two plugins or two descriptors have one name, or a plugin does not import or is broken.
        """
        self._strict = strict
        self._hooks = Hooks()
        self._found: dict[str, dict[str, tuple[Source, Descriptor[object]]]] = {hook: {} for hook in DESCRIPTORS}
        self._plugins: dict[str, Plugin] = {}
        names: set[str] = set()
        for source in sorted(sources, key=lambda one: (one.distribution, one.name, one.module)):
            names |= {source.name, source.distribution}
            self._add(source, blocked=source.name in block or source.distribution in block)
        for name in sorted(set(block) - names):
            warnings.warn(f"{BLOCK} names {name!r}, which is no installed plugin.", PluginWarning, stacklevel=2)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin found, the blocked and the broken ones included, ordered by distribution."""
        return tuple(self._plugins.values())

    def all(self, kind: type[D]) -> Mapping[str, D]:
        """Every descriptor of one kind by its name, in the order of their distributions."""
        return {name: cast(D, descriptor) for name, (_, descriptor) in self._found[kind.hook].items()}

    def load_each(self, kind: type[Descriptor[T]]) -> Mapping[str, T]:
        """Load every descriptor of one kind.

        A broken observer or explainer is left out with a ``PluginWarning``.

        Raises:
            PluginError: another kind of plugin does not load.
        """
        loaded: dict[str, T] = {}
        for name, (source, descriptor) in self._found[kind.hook].items():
            try:
                loaded[name] = cast(T, descriptor.load())
            except Exception as error:
                sentence = source.loads_not(descriptor, error)
                if kind.hook not in _SKIPPED_WHEN_BROKEN:
                    raise PluginError(sentence) from error
                warnings.warn(f"{sentence} It is left out.", PluginWarning, stacklevel=2)
        return loaded

    def find_store(self, scheme: str) -> StoreType:
        """The store type of a URL scheme.

        Raises:
            UnknownStore: no plugin provides it; says which distribution does, or which names are near.
        """
        stores = self.all(StoreType)
        if scheme in stores:
            return stores[scheme]
        fact = f"No store is named {scheme!r}"
        home = _STORES_ELSEWHERE.get(scheme)
        if any(plugin.blocked and plugin.distribution == home for plugin in self.plugins):
            raise UnknownStore(f"{fact}: {home}, which provides it, is blocked. Take it out of {BLOCK}.")
        if home:
            raise UnknownStore(f"{fact}: {home}, which provides it, is not installed. Run: pip install {home}")
        hint = near(scheme, [*stores, *_STORES_ELSEWHERE])
        raise UnknownStore(f"{fact}{hint or '.'} Installed: {', '.join(sorted(stores)) or 'none'}.")

    def _add(self, source: Source, *, blocked: bool) -> None:
        twin = self._plugins.get(source.name)
        key = source.name if twin is None else f"{source.name} ({source.distribution})"
        problem: str | None = None
        found: dict[tuple[str, str], Descriptor[object]] = {}
        try:
            if twin is not None:
                raise PluginError(
                    f"Two plugins are named {source.name!r}: one of {twin.distribution} {twin.version}, one of "
                    f"{source.distribution} {source.version}. Uninstall one of the two distributions."
                )
            if not blocked:
                found = self._collect(source)
        except PluginError as error:
            if self._strict:
                raise
            problem = str(error)
        for (hook, name), descriptor in found.items():
            self._found[hook][name] = (source, descriptor)
        self._plugins[key] = Plugin(
            source.name, source.distribution, source.version, source.module, tuple(found), blocked, problem
        )

    def _collect(self, source: Source) -> dict[tuple[str, str], Descriptor[object]]:
        found: dict[tuple[str, str], Descriptor[object]] = {}
        for hook, function in hook_functions(self._hooks, source).items():
            try:
                descriptors = provided(source, hook, function)
            except PluginError as error:
                if hook not in _SKIPPED_WHEN_BROKEN:
                    raise
                warnings.warn(f"{error} What it provides is left out.", PluginWarning, stacklevel=4)
                continue
            for descriptor in descriptors:
                owner = self._found[hook].get(descriptor.name, (source, None))[0]
                if owner is not source or (hook, descriptor.name) in found:
                    raise PluginError(
                        f"{hook} is given {descriptor.name!r} twice: by {owner} and by {source}. "
                        f"Uninstall one of them, or leave it out with {BLOCK}={source.name}."
                    )
                found[hook, descriptor.name] = descriptor
        return found


@functools.cache
def manager() -> Manager:
    """The plugins of this process, collected at the first call.

    Raises:
        PluginError: see ``Manager``; or the core itself is not installed.
    """
    return discover()


def discover(*, strict: bool = True) -> Manager:
    """Collect the installed plugins anew; ``strict=False`` also returns the broken ones, for listings.

    Raises:
        PluginError: see ``Manager``; or the core itself is not installed.
    """
    sources = installed()
    if not any(source.distribution == "flowli" for source in sources):
        raise PluginError(
            "flowli is imported but not installed here, so that none of its stores and commands is known. "
            "Install it: pip install -e packages/flowli in a checkout, or its wheel."
        )
    block = {name.strip() for name in os.environ.get(BLOCK, "").split(",")} - {""}
    return Manager(sources, block=block, strict=strict)


def find_store(scheme: str) -> StoreType:
    """The store type of a URL scheme among the plugins of this process.

    Raises:
        UnknownStore: no plugin provides it; says which distribution does, or which names are near.
        PluginError: the plugins could not be collected.
    """
    return manager().find_store(scheme)
