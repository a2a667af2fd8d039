"""How a test of a suite is run: counted, if that was asked for, and with a failure that names the promise."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict
from typing import Any, cast

import pytest

from flowli.cairn.store import ObjectStore
from flowli.domain.ports import Ports
from flowli.testing.stores import CountingStore, Counts
from flowli.testing.suites.costs import CallCounter, Cost, total
from flowli.testing.suites.promises import broken, promise_of, subject_of

__all__ = ["COUNTS", "report", "run"]

COUNTS: pytest.StashKey[Any] = pytest.StashKey()
"""Where ``PortSuite`` leaves what the fixture ``counts`` gives."""

_PROPERTY = "flowli requests"


def run(item: pytest.Function, *, counted: bool) -> Generator[None, object, object]:
    """Run a test of a suite.

    Args:
        counted: leave in the properties of its report what it cost.

    Raises:
        BrokenPromise: it failed.
    """
    __tracebackhide__ = True
    suite = item.cls
    assert suite is not None
    counting = _Counting(item) if counted else None
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        # in the place of the error, so that its traceback ends where a promise was looked at
        raise broken(suite, item.name, error).with_traceback(error.__traceback__) from None
    finally:
        if counting is not None:
            where = "::".join(item.nodeid.split("::")[1:-1])
            found = {"suite": f"{subject_of(suite)} ({where})", "promise": promise_of(item.name), **counting.found()}
            item.user_properties.append((_PROPERTY, found))


class _Counting:
    """Puts what counts in the place of the fixture's value."""

    def __init__(self, item: pytest.Function) -> None:
        self._calls: CallCounter | None = None
        self._counts: Callable[[], Counts] | None = item.stash.get(COUNTS, None)
        if "ports" in item.funcargs:
            self._calls = CallCounter(cast("Ports", item.funcargs["ports"]))
            item.funcargs["ports"] = self._calls.ports
        elif "store" in item.funcargs:
            store = item.funcargs["store"] = CountingStore(cast("ObjectStore", item.funcargs["store"]))
            self._counts = store.since
        self._before = Counts() if self._counts is None else self._counts()

    def found(self) -> dict[str, object]:
        operations = {} if self._calls is None else self._calls.costs
        if self._counts is None:
            cost, of = total(operations.values()), "calls of the ports"
        else:
            cost, of = Cost.of(self._before, self._counts()), "requests to the storage"
        return {"of": of, "cost": asdict(cost), "operations": {name: asdict(one) for name, one in operations.items()}}


def report(properties: Iterable[tuple[str, Any]]) -> list[str]:
    """The lines of the report, from the properties of the reports of all tests; none if nothing was counted."""
    found = [value for name, value in properties if name == _PROPERTY]
    lines: list[str] = []
    for suite in dict.fromkeys(one["suite"] for one in found):
        mine = [one for one in found if one["suite"] == suite]
        lines.append(_line(f"{suite}: {mine[0]['of']}", Cost(), head=True))
        costs = [Cost(**one["cost"]) for one in mine]
        lines += [_line(f"  {one['promise']}", cost) for one, cost in zip(mine, costs, strict=True)]
        lines.append(_line("  in all", total(costs)))
    operations: dict[str, Cost] = {}
    for one in found:
        for name, cost in one["operations"].items():
            operations[name] = operations.get(name, Cost()) + Cost(**cost)
    if operations:
        lines.append(_line("Operations of the ports", Cost(), head=True))
        lines += [_line(f"  {name}", cost) for name, cost in sorted(operations.items())]
    return lines


def _line(text: str, cost: Cost, *, head: bool = False) -> str:
    values = asdict(cost)
    cells = "".join(
        f"{name.upper() if head else value:>{10 if name in ('sent', 'received') else 8}}"
        for name, value in values.items()
    )
    return f"{text[:71]:<72}{cells}"
