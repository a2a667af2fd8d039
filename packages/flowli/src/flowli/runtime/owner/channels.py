"""``ChannelReader``: reads the channels of one owner, one round at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from flowli.domain.errors import BackendError, BackendUnavailable
from flowli.runtime.owner.events import Event, Lost, Nudged
from flowli.runtime.owner.waits import Waits
from flowli.runtime.services import Services

__all__ = ["ChannelReader"]

_log = structlog.get_logger("flowli.owner")
_RETRY_S = 0.2


class ChannelReader:
    """See the module's docstring."""

    def __init__(self, services: Services, waits: Waits, tell: Callable[[Event], None]) -> None:
        self._services = services
        self._waits = waits
        self._tell = tell
        self._wanted: set[str] = set()
        self._news: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Nothing is being read, and nothing is known to have come."""
        return self._task is None and not any(self._waits.wants(channel) for channel in self._news)

    def want(self, channel: str, *, news: bool = False) -> None:
        """Something may have come on ``channel``.

        Args:
            news: something has, most likely. Else, if all is quiet, it is looked for on suspending only, when a marker
                stands.
        """
        (self._news if news else self._wanted).add(channel)

    def begin(self) -> None:
        """Read what is wanted, unless a round is under way."""
        if (self._wanted or self._news) and self._task is None:
            wanted = {channel for channel in self._wanted | self._news if self._waits.wants(channel)}
            self._wanted.clear()
            self._news.clear()
            if wanted:
                self._task = asyncio.create_task(self._read(wanted))

    async def _read(self, channels: set[str]) -> None:
        try:
            await asyncio.gather(*(self._waits.read(channel) for channel in sorted(channels)))
        except BackendUnavailable as error:
            _log.warning("channels could not be read", error=str(error), retry_in_s=_RETRY_S)
            self._news |= channels
            await self._services.world.sleep(_RETRY_S)
        except BackendError as error:
            self._tell(Lost(error))
        finally:
            self._task = None
            self._tell(Nudged())

    async def look(self) -> None:
        """Read every channel that some frame waits on, now.

        Raises:
            BackendError: one cannot be read.
        """
        self._wanted.clear()
        self._news.clear()
        await asyncio.gather(*(self._waits.read(channel) for channel in self._waits.channels))

    async def stop(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
