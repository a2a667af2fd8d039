"""Which rights the credentials have, and for which processes they suffice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from flowli.cairn.errors import StoreError, StorePermission
from flowli.cairn.settle import persist
from flowli.cairn.write import Unknown
from flowli.cli.doctor.check import Finding, Level, Patient
from flowli.domain.data import Data

__all__ = ["NEEDS", "RIGHTS", "rights"]

RIGHTS: tuple[str, ...] = ("list", "get", "create", "replace", "delete")
"""What a bucket lets somebody do; on some services creating and replacing are granted apart."""

NEEDS: Mapping[str, frozenset[str]] = {
    "worker": frozenset(RIGHTS),
    "sweeper": frozenset(RIGHTS),
    "consumer": frozenset(RIGHTS),
    "service": frozenset(RIGHTS) - {"delete"},
    "reader": frozenset({"list", "get"}),
}
"""What each process needs: ``service`` starts, signals and waits; ``reader`` only looks."""


async def rights(patient: Patient) -> list[Finding]:
    """Try each right by itself under ``wf/probe/``."""
    prefix = f"wf/probe/{patient.world.token()}/"
    key, store = f"{prefix}right", patient.store
    tries: dict[str, Callable[[], Awaitable[object]]] = {
        "list": lambda: store.list(prefix),
        "get": lambda: store.get(key),
        "create": lambda: store.put(key, b"1", if_absent=True),
        "replace": lambda: store.put(key, b"2"),
        "delete": lambda: store.delete(key),
    }
    found: list[Finding] = []
    for right in RIGHTS:
        if right == "replace" and "create" in patient.denied:
            continue  # there is nothing to be replaced
        try:
            answer = await persist(patient.world, tries[right])
        except StorePermission as error:
            patient.denied[right] = error.advice
            continue
        except StoreError as error:
            return [*found, Finding("rights", Level.BAD, str(error), fatal=True)]
        if isinstance(answer, Unknown):
            found.append(Finding("rights", Level.NOTE, f"Whether {right} is allowed is unknown: {answer.cause}."))
    return [*found, *_told(patient)]


def _told(patient: Patient) -> list[Finding]:
    denied, process = patient.denied, patient.wishes.process
    table: dict[str, Data] = {right: right not in denied for right in RIGHTS}
    if "create" in denied:
        table["replace"] = None
    found: list[Finding] = []
    for name, needs in NEEDS.items():
        missing = [right for right in RIGHTS if right in needs and right in denied]
        level = Level.GOOD if not missing else Level.BAD if name == process else Level.NOTE
        advice = "; ".join(dict.fromkeys(denied[right] for right in missing))
        text = f"A {name} may work." if not missing else f"A {name} lacks {' and '.join(missing)}. {advice}."
        found.append(Finding("rights", level, text, {"process": name, "missing": [*missing], "allowed": table}))
    if "delete" in denied and "create" not in denied:
        found.append(Finding("rights", Level.NOTE, "What was tried stays under wf/probe/, for it may not be removed."))
    return found
