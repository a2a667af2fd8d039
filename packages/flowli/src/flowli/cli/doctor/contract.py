"""Does the store keep the contract on which everything stands."""

from __future__ import annotations

from flowli.cairn.errors import StoreError, StoreUnsuitable
from flowli.cairn.probe import probe
from flowli.cli.doctor.check import Finding, Level, Patient
from flowli.cli.doctor.rights import RIGHTS

__all__ = ["contract"]


async def contract(patient: Patient) -> list[Finding]:
    """Try conditions, races, order and key length out, each by its name."""
    missing = [right for right in RIGHTS if right in patient.denied]
    if missing:
        text = f"Whether conditions are evaluated cannot be tried without the right to {' and '.join(missing)}."
        return [Finding("contract", Level.NOT_TRIED, text)]
    passed: list[str] = []
    wrong: list[Finding] = []
    try:
        await probe(patient.store, patient.world, racers=patient.wishes.racers, thorough=True, passed=passed)
    except StoreUnsuitable as error:
        wrong = [Finding("contract", Level.BAD, str(error), {"passed": [*passed]}, fatal=True)]
    except StoreError as error:
        wrong = [Finding("contract", Level.BAD, str(error), {"passed": [*passed]})]
    good = [Finding("contract", Level.GOOD, f"{name} works.", {"probe": name}) for name in passed]
    return [*good, *wrong]
