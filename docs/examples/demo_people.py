"""The people of the demo: they read the mails of ``ask_for_decision`` in the ledger and answer with signals."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from outside import luck, read_ledger

from flowli import Engine
from flowli.domain.errors import NotAllowed


class People:
    """Team leads and the head of finance. Who answers which invoice, and how, is the same in every run."""

    def __init__(self, engine: Engine, ledger: Path, invoices: Mapping[str, UUID]) -> None:
        self._engine = engine
        self._ledger = ledger
        self._invoices = invoices
        self._answered: set[tuple[str, str]] = set()
        self._held_back: dict[str, str] | None = {}
        self._answering = asyncio.create_task(self._answer())

    def check(self) -> None:
        """Raise what went wrong while they answered."""
        if self._answering.done():
            self._answering.result()

    def leave(self) -> None:
        """Answer no more."""
        self._answering.cancel()

    async def _answer(self) -> None:
        while True:
            for line in read_ledger(self._ledger):
                role = line.what.removeprefix("ask ")
                if role != line.what and (line.subject, role) not in self._answered:
                    self._answered.add((line.subject, role))
                    await self._react(line.subject, role)
            await asyncio.sleep(0.1)

    async def answer_held_back(self) -> int:
        """Send the answers that were kept until no worker was alive; returns how many."""
        held_back, self._held_back = self._held_back or {}, None
        for number, role in held_back.items():
            await self._decide(number, role)
        return len(held_back)

    async def _react(self, number: str, role: str) -> None:
        mood = luck(number, 8)
        if mood == 0 or (mood == 1 and role == "team lead"):
            return  # nobody answers; or only the head of finance does
        if mood <= 4 and role == "team lead" and self._held_back is not None:
            self._held_back[number] = role
            return
        await self._decide(number, role)

    async def _decide(self, number: str, role: str) -> None:
        decision = {"approved": luck(number, 5) != 0, "by": role}
        key = f"{number}-{role.replace(' ', '-')}"  # the answer counts once, however often the mail was sent
        with contextlib.suppress(NotAllowed):  # somebody else decided meanwhile, and the invoice is settled
            await self._engine.signal(self._invoices[number], "decision", decision, key=key)
