"""flowli beside other embedded engines: every program in turn, several times over, on one host, in one run.

``nox -s peers`` installs them and prints a table of medians in Markdown. What a disk does from one minute to the next
differs more than programs do, so the time of a raw durable create is taken before every scenario and latencies are told
as multiples of it too. DBOS on PostgreSQL takes part where ``BENCH_POSTGRES`` holds the URL of a server without the
name of a database. Wants a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from measure import SCENARIOS
from programs import PROGRAMS

__all__ = ["GOALS", "Goal", "Table"]

LIMIT_S = 300
CREATES = 40

Row = tuple[str, str]
"""A figure and the program it is of."""


@dataclass(frozen=True)
class Goal:
    """``figure`` of ``program`` is at least (or at most) ``times`` that of ``other``, or of the raw create.

    Without ``relative`` it is an amount.
    """

    program: str
    figure: str
    times: float
    other: str | None = None
    at_most: bool = False
    relative: bool = True


FOLDER, SQLITE, DBOS, DBOS_PG = "flowli, folder", "flowli, SQLite", "DBOS, SQLite", "DBOS, PostgreSQL"
GOALS = (
    Goal(SQLITE, "executions/s", 1, "unhinged"),
    Goal(SQLITE, "CPU ms each", 1.6, at_most=True, relative=False),
    Goal(FOLDER, "executions/s", 4, DBOS),
    Goal(FOLDER, "executions/s", 2, DBOS_PG),
    Goal(FOLDER, "step ms", 2.5, at_most=True),
    Goal(FOLDER, "start to result ms", 12, at_most=True),
    Goal(FOLDER, "enqueue to code ms", 12, at_most=True),
    Goal(FOLDER, "signal to code ms", 12, at_most=True),
    Goal(SQLITE, "children/s", 4, DBOS),
    Goal(FOLDER, "sleepers MB", 20, at_most=True, relative=False),
)


class Table:
    """What was measured, figure by figure and program by program."""

    def __init__(self) -> None:
        self.figures: dict[Row, list[float]] = defaultdict(list)
        self.raw_ms: dict[Row, list[float]] = defaultdict(list)

    def add(self, program: str, figure: str, value: float, raw_ms: float) -> None:
        self.figures[figure, program].append(value)
        self.raw_ms[figure, program].append(raw_ms)

    def median(self, program: str, figure: str) -> float | None:
        found = self.figures.get((figure, program))
        return statistics.median(found) if found else None

    def multiple(self, program: str, figure: str) -> float | None:
        """The median of the multiples of the raw create that was timed just before."""
        pairs = zip(self.figures[figure, program], self.raw_ms[figure, program], strict=True)
        found = [value / raw_ms for value, raw_ms in pairs]
        return statistics.median(found) if found else None

    def markdown(self) -> str:
        names = [name for name in PROGRAMS if any(program == name for _, program in self.figures)]
        lines = [f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
        for figure in dict.fromkeys(figure for figure, _ in self.figures):
            cells = [self._cell(name, figure) for name in names]
            lines.append(f"| {figure} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def judge(self, goal: Goal) -> str | None:
        """One line on a goal; None if something it speaks of was not measured."""
        mine = self.median(goal.program, goal.figure)
        if mine is None:
            return None
        if not goal.relative:
            found, of = mine, ""
        elif goal.other is None:
            found, of = self.multiple(goal.program, goal.figure) or 0.0, " times the raw create"
        else:
            theirs = self.median(goal.other, goal.figure)
            if theirs is None:
                return None
            found, of = mine / theirs, f" times {goal.other}"
        met = found <= goal.times if goal.at_most else found >= goal.times
        sign = "≤" if goal.at_most else "≥"
        told = "met   " if met else "MISSED"
        return f"{told}  {goal.program}: {goal.figure} {found:.2f}{of} (goal {sign} {goal.times:g})"

    def _cell(self, program: str, figure: str) -> str:
        value = self.median(program, figure)
        if value is None:
            return ""
        told = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        multiple = self.multiple(program, figure) if figure.endswith(" ms") else None
        return told if multiple is None else f"{told} ({multiple:.1f} raw)"


def raw_create_ms() -> float:
    """The median time of a file of 1 kB that is made durable with its name."""
    with tempfile.TemporaryDirectory() as name:
        folder = os.open(name, os.O_RDONLY)
        took = []
        for number in range(CREATES):
            began_s = time.perf_counter()
            file = os.open(f"{name}/{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            os.write(file, bytes(1000))
            os.fsync(file)
            os.close(file)
            os.fsync(folder)
            took.append(time.perf_counter() - began_s)
        os.close(folder)
    return 1000 * statistics.median(took)


def measured(program: str, scenario: str) -> dict[str, float] | str:
    """The figures of one run, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).with_name("measure.py")), program, scenario, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if lines:
        return dict(json.loads(lines[-1]))
    return (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scenario", choices=list(SCENARIOS), action="append")
    chosen = parser.parse_args()
    programs = [name for name in PROGRAMS if name != DBOS_PG or "BENCH_POSTGRES" in os.environ]
    table, left_out = Table(), {}
    for repeat in range(chosen.repeats):
        for scenario in chosen.scenario or SCENARIOS:
            for program in programs:
                if (program, scenario) in left_out:
                    continue
                raw_ms, found = raw_create_ms(), measured(program, scenario)
                print(f"{repeat + 1}  {program}, {scenario}: {found} (raw create {raw_ms:.2f} ms)", flush=True)
                if isinstance(found, str):
                    left_out[program, scenario] = found
                else:
                    for figure, value in found.items():
                        table.add(program, figure, value, raw_ms)
    print(f"\n{table.markdown()}\n")
    for (program, scenario), why in left_out.items():
        print(f"left out: {program}, {scenario}: {why}")
    for line in filter(None, map(table.judge, GOALS)):
        print(line)


if __name__ == "__main__":
    main()
