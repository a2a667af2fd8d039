"""What plugins hand over: small frozen values that name a thing and can load it.

A descriptor costs nothing: ``load`` does the import, and nobody calls it before the thing is used. So a command line
with every plugin installed starts without one SDK. There is one class per hook, documented in ``flowli.hookspecs``.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from click import Command

    from flowli.cairn.store import ObjectStore
    from flowli.domain.ports import Ports
    from flowli.runtime import Registry
    from flowli.runtime.insight import Explainer
    from flowli.world import World
else:  # the parameter of a generic base is not looked at when the program runs, and its import is what must not happen
    Command = Explainer = Registry = object

__all__ = [
    "DESCRIPTORS",
    "AgentType",
    "ApiRouterType",
    "AuthenticatorType",
    "Backend",
    "BackendFactory",
    "BackendType",
    "Coded",
    "CodecType",
    "CommandType",
    "Descriptor",
    "EngineExtensionType",
    "EventSinkType",
    "EventSourceType",
    "ExplainerType",
    "ObserverType",
    "PatternType",
    "StoreFactory",
    "StoreType",
    "SweepJobType",
    "ToolType",
    "ValueStep",
    "WorkflowType",
]

T = TypeVar("T", covariant=True)

_NAME = re.compile(r"[a-z][a-z0-9_.+-]*", re.ASCII)


class StoreFactory(Protocol):
    """Opens stores of one type. The class of the store itself usually is one, with two class methods."""

    def from_url(self, url: str, *, world: World) -> ObjectStore:
        """Open the store that ``url`` names; no request is made yet.

        Raises:
            StoreConfigError: the URL does not fit, with one sentence that says what to write.
        """

    def from_config(self, config: Mapping[str, object], *, world: World) -> ObjectStore:
        """Open the store that ``config`` describes (the ``storage`` table of a configuration, ``type`` included).

        Raises:
            StoreConfigError: a field is unknown, missing or of the wrong kind.
        """


class Backend(Protocol):
    """An open backend: the ten ports, where they lead, and the end of it."""

    @property
    def ports(self) -> Ports:
        """The ten ports, always the same objects."""

    @property
    def url(self) -> str:
        """Where it is, without secrets."""

    async def close(self) -> None:
        """Let go of connections and threads, those of forks as well; their work has ended before."""


class BackendFactory(Protocol):
    """Opens whole backends of one type. The class of the backend itself usually is one, with two class methods."""

    def from_url(self, url: str, *, world: World) -> Backend:
        """Open the backend that ``url`` names; nothing needs to be reached before a port is used.

        Raises:
            BackendRefused: the URL does not fit, with one sentence that says what to write.
        """

    def from_config(self, config: Mapping[str, object], *, world: World) -> Backend:
        """Open the backend that ``config`` describes (the ``storage`` table of a configuration, ``type`` included).

        Raises:
            BackendRefused: a field is unknown, missing or of the wrong kind.
        """


@dataclass(frozen=True, slots=True)
class Coded:
    """What a step of a codec made of a value.

    Attributes:
        data: in the place of what it was given.
        note: is stored in the clear beside it and given back to ``decode``: which key, which method. Printable ASCII.
    """

    data: bytes
    note: str = ""


class ValueStep(Protocol):
    """One step through which stored values go: compression, encryption.

    Several threads may call it at once. What it wrote once it must be able to read for as long as the value is kept.
    """

    @property
    def name(self) -> str:
        """Names it in what is stored: the name of its ``CodecType``."""

    def encode(self, data: bytes, context: bytes) -> Coded | None:
        """Change a value on its way to the backend; None to leave it as it is (it does not compress, ...).

        Args:
            context: where the value belongs, for example to which execution. A step that encrypts binds the value to
                it, so that it cannot be read in another place.
        """

    def decode(self, data: bytes, context: bytes, note: str) -> bytes:
        """Undo ``encode``.

        Raises:
            ValueUnreadable: it cannot be undone here, with one sentence that names what is missing.
        """


@dataclass(frozen=True, slots=True)
class Descriptor(Generic[T]):
    """One thing that a plugin provides.

    Attributes:
        name: what users write; unique among all descriptors of one hook. Lower-case letters, digits and ``_ . + -``.
        summary: one line for listings and help.
        load: returns the thing; the import stands inside. Called when the thing is first used, perhaps more than once.

    Raises:
        ValueError: ``name`` or ``summary`` has another form.
        TypeError: ``load`` cannot be called.
    """

    hook: ClassVar[str] = ""

    name: str
    summary: str
    load: Callable[[], T]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{kind} has the name {self.name!r}; use lower-case letters, digits and any of _ . + -")
        if not self.summary.strip() or "\n" in self.summary:
            raise ValueError(f"{kind} {self.name!r} has the summary {self.summary!r}; write one line")
        if not callable(self.load):
            raise TypeError(f"{kind} {self.name!r} has a load that cannot be called; give a function without arguments")


class StoreType(Descriptor[StoreFactory]):
    """A kind of object store; ``name`` is its URL scheme and its ``type`` in a configuration."""

    __slots__ = ()
    hook = "flowli_stores"


class BackendType(Descriptor[BackendFactory]):
    """A whole backend: an object with the ten ports; ``name`` is its URL scheme."""

    __slots__ = ()
    hook = "flowli_backends"


class PatternType(Descriptor[Callable[..., Awaitable[object]]]):
    """A pattern: an async function whose first argument is a ``Context``."""

    __slots__ = ()
    hook = "flowli_patterns"


class CommandType(Descriptor[Command]):
    """A subcommand of ``flowli``; ``summary`` is its line in ``flowli --help``."""

    __slots__ = ()
    hook = "flowli_commands"


class WorkflowType(Descriptor[Registry]):
    """A registry of workflows that a distribution brings along."""

    __slots__ = ()
    hook = "flowli_workflows"


class ObserverType(Descriptor[object]):
    """An observer of what happens in an engine."""

    __slots__ = ()
    hook = "flowli_observers"


class CodecType(Descriptor[ValueStep]):
    """A step through which stored values go: compression, encryption."""

    __slots__ = ()
    hook = "flowli_codecs"


class EventSourceType(Descriptor[object]):
    """A source of external events that start or signal executions."""

    __slots__ = ()
    hook = "flowli_event_sources"


class ApiRouterType(Descriptor[object]):
    """Routes that join the HTTP service; ``name`` is their path prefix."""

    __slots__ = ()
    hook = "flowli_api_routers"


class AuthenticatorType(Descriptor[object]):
    """A way in which the HTTP service learns who calls."""

    __slots__ = ()
    hook = "flowli_authenticators"


class AgentType(Descriptor[object]):
    """An adapter through which the runner gives delegated work to an agent or a program."""

    __slots__ = ()
    hook = "flowli_agents"


class SweepJobType(Descriptor[object]):
    """Idempotent work that every sweeper does in each pass."""

    __slots__ = ()
    hook = "flowli_sweep_jobs"


class EngineExtensionType(Descriptor[object]):
    """What makes ``engine.{name}``: a callable that takes the engine and returns the object behind that attribute."""

    __slots__ = ()
    hook = "flowli_engine_extensions"


class ExplainerType(Descriptor[Explainer]):
    """Reasons that a pattern adds to ``explain``."""

    __slots__ = ()
    hook = "flowli_explainers"


class EventSinkType(Descriptor[object]):
    """A kind of place outside to which state changes are published; ``name`` is its URL scheme."""

    __slots__ = ()
    hook = "flowli_event_sinks"


class ToolType(Descriptor[object]):
    """A tool that workflows may invoke under one protocol."""

    __slots__ = ()
    hook = "flowli_tools"


DESCRIPTORS: Mapping[str, type[Descriptor[object]]] = {kind.hook: kind for kind in Descriptor.__subclasses__()}
"""The descriptor class of each hook: every class above, once."""
