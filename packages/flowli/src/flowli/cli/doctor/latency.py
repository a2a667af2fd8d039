"""How long requests take from here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from flowli.cairn.errors import StoreError
from flowli.cairn.observe import RequestOutcome
from flowli.cli.doctor.check import Finding, Level, Patient
from flowli.domain.data import Data

__all__ = ["CLASSES", "EDGES_MS", "latency"]

EDGES_MS: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Upper edges of the classes of the histogram; the last class is open."""

CLASSES: tuple[str, ...] = (*(f"{edge} ms" for edge in EDGES_MS), "more")
"""The names of the classes."""

_SLOW_MS = 500.0


async def latency(patient: Patient) -> list[Finding]:
    """Time some requests of each kind that is allowed, one after the other."""
    prefix, store = f"wf/probe/{patient.world.token()}/", patient.store
    keys = [f"{prefix}{number:04d}" for number in range(patient.wishes.samples)]
    kinds: dict[str, tuple[str, Callable[[str], Awaitable[object]]]] = {
        "put": ("create", lambda key: store.put(key, b"x" * 512, if_absent=True)),
        "get": ("get", store.get),
        "list": ("list", lambda key: store.list(prefix, limit=10)),
        "delete": ("delete", store.delete),
    }
    found: list[Finding] = []
    for verb, (right, request) in kinds.items():
        if right in patient.denied or (verb == "put" and "delete" in patient.denied):
            continue
        begun = len(patient.requests)
        for key in keys:
            try:
                await request(key)
            except StoreError as error:
                return [*found, Finding("latency", Level.NOTE, f"A {verb} failed: {error}")]
        made = [one for one in patient.requests[begun:] if one.outcome is not RequestOutcome.THROTTLED]
        found.append(_told(verb, [one.seconds * 1000 for one in made if one.verb == verb]))
    return found


def _told(verb: str, times_ms: Sequence[float]) -> Finding:
    times = sorted(times_ms)
    middle, late = _at(times, 0.5), _at(times, 0.9)
    classes: dict[str, Data] = dict.fromkeys(CLASSES, 0)
    classes |= Counter(next((f"{edge} ms" for edge in EDGES_MS if one <= edge), CLASSES[-1]) for one in times)
    text = f"A {verb} takes {middle:.1f} ms, one of ten {late:.1f} ms, the slowest {times[-1]:.1f} ms."
    slow = middle > _SLOW_MS
    if slow:
        text += " That is slow: every step waits for a put. Use a bucket near the workers."
    data: dict[str, Data] = {
        "verb": verb,
        "samples": len(times),
        "p50_ms": round(middle, 3),
        "p90_ms": round(late, 3),
        "max_ms": round(times[-1], 3),
        "histogram": classes,
    }
    return Finding("latency", Level.NOTE if slow else Level.GOOD, text, data)


def _at(times: Sequence[float], share: float) -> float:
    return times[min(len(times) - 1, int(len(times) * share))]
