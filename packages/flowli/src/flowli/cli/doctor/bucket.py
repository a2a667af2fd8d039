"""What the settings of the bucket do to an installation."""

from __future__ import annotations

from collections.abc import Mapping

from flowli.cairn.observe import ObservedStore
from flowli.cairn.remote.bucket import Describable, Harm
from flowli.cli.doctor.check import Finding, Level, Patient

__all__ = ["bucket"]

_LEVELS: Mapping[Harm, Level] = {
    Harm.NONE: Level.GOOD,
    Harm.COSTS: Level.NOTE,
    Harm.LOSES: Level.BAD,
    Harm.UNKNOWN: Level.NOT_TRIED,
}


async def bucket(patient: Patient) -> list[Finding]:
    """Ask for versions, lifecycle rules, public access and retention, where the service tells them."""
    store = patient.store.store if isinstance(patient.store, ObservedStore) else patient.store
    if not isinstance(store, Describable):
        return [Finding("bucket", Level.GOOD, "This kind of store has no settings beside its URL.")]
    return [
        Finding("bucket", _LEVELS[one.harm], f"{one.name}: {one.text}", {"setting": one.name, "harm": one.harm.value})
        for one in await store.settings()
    ]
