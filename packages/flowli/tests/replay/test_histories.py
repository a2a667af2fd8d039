"""Histories that are kept in the repository: recorded once on Python 3.11, replayed by every Python since.

To add one, give its code a name in ``KEPT`` and run this file with ``FLOWLI_TEST_RECORD=1``: it writes what is missing.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowli.domain.entries import ExecutionStarted
from flowli.domain.errors import UsageError
from flowli.domain.retry import RetryPolicy
from flowli.runtime.context import Context
from flowli.testing.replay import read_history, replay, write_history

from .fan_out import fan_out
from .live import Live, calm
from .programs import fails, registry, smaller, workflow
from .test_deliveries import five_things, shop_with_check, with_clean_up

HERE = Path(__file__).parent / "histories"
EVERYTHING: list[Any] = [
    ["gather", [[["step", 1]], [["receive", "a", 3]], [["raise"]]], True],
    ["group", [[["asyncio_sleep", 2], ["step", 2]], [["child", 1]]]],
    ["wait", [[["step", 1], ["sleep", 2]], [["receive", "b", None]], [["effect", 3]]], "FIRST_COMPLETED", 4, True],
    ["as_completed", [[["step", 1]], [["bad_step", 2, 2]], [["sleep", 1]]]],
    ["timeout", 2, [["receive", "silent", 4]]],
    ["shield", 1, [["step", 4], ["sleep", 3]]],
    ["locked", [[["step", 1]], [["sleep", 1]], []]],
    ["queue", 3, 2],
    ["event", [["step", 1]]],
    ["scope", [["frames", [1, 2, 3]]]],
    ["patched", "one", [["step", 3]], []],
    ["generator", [["step", 1]], True],
    ["attempt", [["raise"]], [], False],
    ["loop", 2, [["branch", [["step", 2]], [["step", 1]]]]],
    ["draw"],
]


async def patient(ctx: Context) -> list[str]:
    """Retries, timers, messages and a child."""
    said = []
    try:
        await ctx.step(fails, 1, retry=RetryPolicy(3))
    except Exception as error:
        said.append(str(error))
    async with asyncio.timeout(30):
        said.append(str(await ctx.receive("a")))
    said.append(str(await ctx.receive("silent", timeout=2)))
    try:
        said.append(str(await ctx.child(smaller, 3)))
    except Exception as error:
        said.append(str(error))
    return said


KEPT: dict[str, tuple[Callable[[], Live], Any]] = {
    "fan_out": (lambda: calm(fan_out, seed=7), fan_out),
    "everything": (lambda: Live(workflow([]), [EVERYTHING], random.Random(5), crashes=1), workflow([])),
    "everything_cancelled": (lambda: Live(workflow([]), [EVERYTHING], random.Random(8), cancels=2), workflow([])),
    "five_things": (lambda: calm(five_things, seed=3), five_things),
    "patient": (lambda: Live(patient, chance=random.Random(4), crashes=2, defers=0.5), patient),
    "shop": (lambda: calm(shop_with_check), shop_with_check),
    "clean_up": (lambda: Live(with_clean_up, chance=random.Random(2), cancels=1), with_clean_up),
}


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_kept_history_replays_from_every_prefix(name: str) -> None:
    """RPL-24."""
    record, code = KEPT[name]
    path = HERE / f"{name}.json"
    if os.environ.get("FLOWLI_TEST_RECORD") and not path.exists():
        path.parent.mkdir(exist_ok=True)
        write_history(path, record().run())
    journal = read_history(path)
    assert len(journal) > 8
    report = replay(code, journal, registry=registry)
    report.check()
    assert report.python == "3.11"
    assert report.ending is not None
    for n in range(1, len(journal)):
        assert replay(code, journal[:n], registry=registry).difference is None


def test_none_is_kept_without_its_code() -> None:
    assert {path.stem for path in HERE.glob("*.json")} == set(KEPT)


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    journal = calm(five_things).run()
    write_history(tmp_path / "one.json", journal)
    assert list(read_history(tmp_path / "one.json")) == journal
    text = (tmp_path / "one.json").read_text()
    assert text.count("\n") == len(journal) + 2
    code = journal[0].by.code
    assert code is not None
    assert code.python == ".".join(platform.python_version_tuple()[:2])


def test_a_history_without_its_beginning_is_refused() -> None:
    journal = calm(five_things).run()
    assert isinstance(journal[0].body, ExecutionStarted)
    for part in ([], journal[1:]):
        with pytest.raises(UsageError, match=r"begins with execution\.started"):
            replay(five_things, part)
