"""``NamedLease``: what only one execution, or one role, holds at a time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from flowli.domain.entries import START
from flowli.domain.ids import Fid
from flowli.runtime.context.base import as_is, nothing
from flowli.runtime.own_channels import lease_channel
from flowli.runtime.replay.calls import FrameCall

if TYPE_CHECKING:
    from flowli.runtime.context.messages import MessageCalls

__all__ = ["NamedLease"]

_FIRST_LOOK, _LAST_LOOK = timedelta(minutes=1), timedelta(hours=1)


class NamedLease:
    """See the module's docstring. Entering waits until it is free; leaving lets it go.

    It is held through suspensions, crashes and deploys, until the block is left or the execution has ended.

    Attributes:
        name: of the lease.
        epoch: rises with every holder. Give it to whatever the lease protects, which can then refuse who comes late.
    """

    def __init__(self, context: MessageCalls, name: str) -> None:
        self._context = context
        self._channel = lease_channel(context.eid, name)
        self._fid: Fid = ""
        self.name = name
        self.epoch = 0

    async def __aenter__(self) -> NamedLease:
        look = _FIRST_LOOK
        try:
            while not await self._take():
                # who lets it go tells the first in the line; one that ended without doing so is found by looking
                deadline = self._context._session.now + look
                await self._context._receive("lease-free", self._channel, deadline, None, START)
                look = min(2 * look, _LAST_LOOK)
        except BaseException:
            await self._let_go()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.ensure_future(self._let_go()))

    async def _take(self) -> bool:
        effects = self._context._effects
        call: FrameCall[int] = self._context._effect(
            "lease",
            {"lease": self.name, "line": self._fid},
            effects.take_lease(self.name, self._fid),
            as_is,
            {"lease": self.name},
        )
        # the first frame stands for the whole block: in the line, and as the holder
        self._fid = self._fid or call.frame.fid
        self.epoch = await call
        return self.epoch > 0

    def _let_go(self) -> FrameCall[None]:
        return self._context._effect(
            "release",
            {"lease": self.name, "holder": self._fid},
            self._context._effects.leave_lease(self.name, self._fid),
            nothing,
            {"lease": self.name, "releases": self._fid},
        )
