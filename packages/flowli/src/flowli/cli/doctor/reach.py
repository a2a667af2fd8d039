"""Is there a bucket at all, and is it one that this release can use."""

from __future__ import annotations

from flowli.cairn.document import decode
from flowli.cairn.errors import FormatTooNew, StoreDamaged, StoreError, StorePermission
from flowli.cairn.layout import LAYOUT_KEY, check_layout
from flowli.cairn.settle import persist
from flowli.cli.doctor.check import Finding, Level, Patient

__all__ = ["reach"]


async def reach(patient: Patient) -> list[Finding]:
    """Read the layout of the bucket: the first request of every process."""
    try:
        found = await persist(patient.world, lambda: patient.store.get(LAYOUT_KEY))
    except StorePermission as error:
        if "credentials" in error.fact or "clock" in error.fact:  # nobody is let in, whatever is granted
            return [Finding("reach", Level.BAD, str(error), fatal=True)]
        return [Finding("reach", Level.NOTE, "The bucket answers, but does not let its layout be read.")]
    except StoreError as error:
        return [Finding("reach", Level.BAD, str(error), fatal=True)]
    if found is None:
        return [Finding("reach", Level.GOOD, "The bucket answers; flowli has not used it yet.", {"layout": None})]
    try:
        layout = check_layout(decode(LAYOUT_KEY, found))
    except (StoreError, StoreDamaged, FormatTooNew) as error:
        return [Finding("reach", Level.BAD, str(error), fatal=True)]
    return [Finding("reach", Level.GOOD, f"The bucket answers; it has layout {layout}.", {"layout": layout})]
