"""Further work of every pass of a sweeper: given by who made it, and by plugins."""

from __future__ import annotations

from typing import Protocol, cast

from flowli.descriptors import SweepJobType
from flowli.plugins import manager
from flowli.runtime.services import Services

__all__ = ["SweepJob", "plugin_jobs"]


class SweepJob(Protocol):
    """Further work of every pass. It may be done twice, also at the same time."""

    async def __call__(self, services: Services) -> object:
        """Do what is due."""


def plugin_jobs() -> tuple[SweepJob, ...]:
    """The jobs of the installed plugins (hook ``flowli_sweep_jobs``).

    Raises:
        PluginError: one of them does not load.
    """
    return tuple(cast("SweepJob", job) for job in manager().load_each(SweepJobType).values())
