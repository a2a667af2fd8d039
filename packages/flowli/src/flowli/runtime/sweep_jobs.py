"""Further work of every pass of a sweeper: given by who made it, and by plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from flowli.descriptors import SweepJobType
from flowli.domain.control_entries import ControlEntry
from flowli.plugins import manager

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["Follower", "SweepJob", "plugin_jobs"]


class SweepJob(Protocol):
    """Further work of every pass. It may be done twice, also at the same time."""

    async def __call__(self, engine: Engine) -> object:
        """Do what is due."""


@runtime_checkable
class Follower(Protocol):
    """A job that lives on the control log: it is shown what its sweeper reads anyway, before each of its turns."""

    def take(self, entry: ControlEntry) -> None:
        """The next entry, from the first one on. It does not raise."""


def plugin_jobs() -> tuple[SweepJob, ...]:
    """The jobs of the installed plugins (hook ``flowli_sweep_jobs``).

    Raises:
        PluginError: one of them does not load.
    """
    return tuple(cast("SweepJob", job) for job in manager().load_each(SweepJobType).values())
