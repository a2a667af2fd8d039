"""``command``: any program. Its arguments hold placeholders; no shell reads them.

``{prompt_file}``, ``{report_file}``, ``{tree}``, ``{attempt}``, ``{model}`` and ``{option.NAME}`` stand for one text
each, wherever they stand in an argument. The prompt itself is in the file, and on standard input: arguments are visible
to every user of the host. ``{{`` and ``}}`` are braces.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from typing import Any

from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.world import World
from flowli_runner.agents.agent import AgentSetup, Job, Running, Said
from flowli_runner.agents.lines import number, whole
from flowli_runner.contracts import Claim, Cost, Outcome
from flowli_runner.contracts.shape import ContractError, from_data
from flowli_runner.process.launch import Program, Record, launch, reattach

__all__ = ["CommandAgent", "fill", "read_report"]

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_MAX_REPORT = 1_048_576


class CommandAgent:
    """Runs the program of its setup."""

    def __init__(self, setup: AgentSetup, world: World) -> None:
        if not setup.argv:
            raise UsageError(
                f"agent {setup.name!r} has no argv; write for example argv = ['my-agent', '{{prompt_file}}']"
            )
        self._setup, self._world = setup, world
        fill(setup.argv, dict.fromkeys(("prompt_file", "report_file", "tree", "attempt", "model"), ""), any_option=True)

    def argv(self, job: Job) -> list[str]:
        """The whole command of a job."""
        return fill(self._setup.argv, _places(job))

    async def start(self, job: Job, record: Record) -> Running:
        return await launch(
            self._world,
            job.folder,
            job.attempt,
            self.argv(job),
            cwd=job.tree,
            env={**job.env, "FLOWLI_REPORT_FILE": str(job.report_file)},
            stdin=job.prompt_file,
            limits=job.limits,
            record=record,
        )

    def attach(self, job: Job, handle: Data) -> Program | None:
        found = reattach(self._world, handle)
        return found if found is not None and found.handle.attempt == job.attempt else None

    def said(self, job: Job, output: bytes) -> Said:
        return read_report(job)

    def problem(self) -> str | None:
        program = self.program()
        if shutil.which(program) is None:
            return f"the program {program!r} of agent {self._setup.name!r} is not found; install it or name its path"
        return None

    def program(self) -> str:
        """The program that is started."""
        return self._setup.argv[0]


def fill(argv: tuple[str, ...], places: Mapping[str, str], *, any_option: bool = False) -> list[str]:
    """Arguments with their placeholders replaced.

    Args:
        any_option: options that are not in ``places`` stand for nothing.

    Raises:
        UsageError: a placeholder is not known, or a brace stands alone.
    """

    def one(found: re.Match[str]) -> str:
        name = found[1]
        if name is None and len(found[0]) == 2:
            return found[0][0]
        if name is not None and name in places:
            return places[name]
        if name is not None and name.startswith("option.") and any_option:
            return ""
        known = ", ".join(f"{{{place}}}" for place in places)
        raise UsageError(f"{found[0]!r} is no placeholder; there are {known} and {{option.NAME}}; {{{{ is a brace")

    return [_PLACE.sub(one, argument) for argument in argv]


def read_report(job: Job) -> Said:
    """What an agent has written into its report file; nothing if it is none.

    Any of the fields may be missing: ``outcome``, ``summary``, ``claims`` (texts, or objects with ``text`` and
    ``evidence``), ``resume``, ``session``, ``cost`` (``tokens_in``, ``tokens_out``, ``usd``).
    """
    try:
        with open(job.report_file, "rb") as file:
            found: Any = json.loads(file.read(_MAX_REPORT))
    except (OSError, ValueError):
        return Said()
    if not isinstance(found, dict):
        return Said()
    outcome = found.get("outcome")
    return Said(
        outcome=Outcome(outcome) if outcome in list(Outcome) else None,
        summary=_text(found.get("summary")),
        claims=_claims(found.get("claims")),
        resume=_text(found.get("resume")),
        session=_text(found.get("session")),
        cost=_cost(found.get("cost")),
    )


def _places(job: Job) -> dict[str, str]:
    settings = job.envelope.agent
    options = {f"option.{name}": value for name, value in settings.options.items()}
    return {
        **options,
        "prompt_file": str(job.prompt_file),
        "report_file": str(job.report_file),
        "tree": str(job.tree),
        "attempt": job.attempt,
        "model": settings.model,
    }


def _claims(found: object) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    for one in found if isinstance(found, list) else []:
        try:
            claims.append(Claim(one) if isinstance(one, str) else from_data(Claim, one, "claim"))
        except ContractError:
            continue
    return tuple(claims)


def _cost(found: object) -> Cost:
    told: dict[str, Any] = found if isinstance(found, dict) else {}
    return Cost(
        tokens_in=whole(told.get("tokens_in")), tokens_out=whole(told.get("tokens_out")), usd=number(told.get("usd"))
    )


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""
