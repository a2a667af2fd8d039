"""The list of all checks, in the order in which they run."""

from __future__ import annotations

from flowli.cli.doctor.bill import bill
from flowli.cli.doctor.bucket import bucket
from flowli.cli.doctor.check import Check, Finding, Level, Patient
from flowli.cli.doctor.contract import contract
from flowli.cli.doctor.latency import latency
from flowli.cli.doctor.reach import reach
from flowli.cli.doctor.rights import rights

__all__ = ["CHECKS", "examine"]

CHECKS: tuple[Check, ...] = (reach, rights, bucket, contract, latency, bill)


async def examine(patient: Patient, checks: tuple[Check, ...] = CHECKS) -> list[Finding]:
    """Run the checks, until one says that the others make no sense."""
    found: list[Finding] = []
    for check in checks:
        found += await check(patient)
        if any(one.fatal and one.level is Level.BAD for one in found):
            break
    return found
