"""Verification commands: run in the tree, under a supervisor like an agent, without the agent's credentials."""

from __future__ import annotations

from pathlib import Path

from flowli.domain.data import Data
from flowli.world import World
from flowli_runner.contracts import Check, CheckResult
from flowli_runner.process.launch import Limits, launch
from flowli_runner.work.config import base_environment
from flowli_runner.work.evidence import Box

__all__ = ["run_checks"]

_MAX_OUTPUT, _GRACE_S, _ORPHAN_S = 1_048_576, 5.0, 30.0


async def run_checks(
    world: World, checks: tuple[Check, ...], attempt: str, folder: Path, tree: Path, box: Box, delivery: int
) -> tuple[CheckResult, ...]:
    """Run all checks, one after the other; each is run anew when a runner takes the work over.

    Args:
        folder: of the attempt.
        delivery: of the task: tells the runs apart.
    """
    results: list[CheckResult] = []
    for at, check in enumerate(checks, 1):
        place = folder / f"check-{at}-{delivery}"
        place.mkdir(parents=True, exist_ok=True)
        limits = Limits(check.timeout_s, _GRACE_S, _MAX_OUTPUT, orphan_s=_ORPHAN_S)
        name = f"{attempt}-check-{at}-{delivery}"
        program = await launch(
            world,
            place,
            name,
            check.argv,
            cwd=tree,
            env=base_environment(),
            stdin=None,
            limits=limits,
            record=_nothing,
        )
        end = await program.wait()
        output = program.output() or f"{end.reason}: {end.error}\n".encode()
        kept = await box.put(f"check-{at}", output)
        passed = end.reason == "exited" and end.exit_code == 0
        results.append(CheckResult(check.name, check.argv, passed, end.exit_code, kept))
    return tuple(results)


async def _nothing(handle: Data) -> None:
    """A check ends by itself when its runner is gone: nobody looks for it."""
