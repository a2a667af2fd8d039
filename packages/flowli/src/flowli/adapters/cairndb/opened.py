"""What the ports of one backend share: the cairn, checked before its first use; and how a method of a port is made."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar, cast

from flowli.adapters.cairndb.errors import translate
from flowli.cairn.database import Cairn
from flowli.cairn.errors import CairnError
from flowli.cairn.layout import LAYOUT_KEY
from flowli.cairn.probe import probe
from flowli.domain.ids import Eid

__all__ = ["CairnPort", "Opened", "port_method"]

_ACQUIRED = 4096

M = TypeVar("M", bound=Callable[..., Coroutine[Any, Any, object]])


class Opened:
    """A cairn that is checked once: its layout is one that this release can use.

    Args:
        cairn: the database.
        checked: whether somebody has checked it already.

    Attributes:
        writer: names this process in commits, for people.
    """

    def __init__(self, cairn: Cairn, *, checked: bool = False) -> None:
        process = cairn.world.process()
        self.cairn = cairn
        self.checked = checked
        self.writer = f"{process.host}-{process.pid}"
        self._acquired: OrderedDict[Eid, tuple[int, float]] = OrderedDict()
        self._checking = asyncio.Lock()
        self._folding: set[asyncio.Task[None]] = set()

    async def check(self) -> None:
        """Check the layout. A new bucket is tried out and marked. Once it has succeeded it is not done again.

        Raises:
            CairnError: the bucket cannot be used.
        """
        async with self._checking:
            if not self.checked:
                if await self.cairn.documents.read(LAYOUT_KEY) is None:
                    # nobody has used this bucket: find out what its store is worth before anything is in it
                    await probe(self.cairn.store, self.cairn.world)
                await self.cairn.ensure_layout()
                self.checked = True

    def note_acquired(self, eid: Eid, epoch: int) -> None:
        """An ownership lease was acquired by this process just now."""
        self._acquired[eid] = (epoch, self.cairn.world.boottime_s())
        self._acquired.move_to_end(eid)
        if len(self._acquired) > _ACQUIRED:
            self._acquired.popitem(last=False)

    def acquired_lately(self, eid: Eid, epoch: int) -> bool:
        """Whether this process acquired that epoch so lately that no journal that stood then can be deleted since."""
        known = self._acquired.get(eid)
        late_s = self.cairn.retire_grace_s / 2
        return known is not None and known[0] == epoch and self.cairn.world.boottime_s() - known[1] < late_s

    def aside(self, work: Coroutine[Any, Any, object]) -> None:
        """Do ``work`` off the critical path. It only fills a cache: whether it succeeds changes no result."""

        async def run() -> None:
            try:
                await work
            except CairnError:
                return

        task = asyncio.ensure_future(run())
        self._folding.add(task)
        task.add_done_callback(self._folding.discard)

    async def settle(self) -> None:
        """End what is still done aside."""
        for task in self._folding:
            task.cancel()
        await asyncio.gather(*self._folding, return_exceptions=True)


class CairnPort:
    """A port over a cairn.

    Args:
        opened: shared by the ports of one backend.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._cairn = opened.cairn
        self._documents = opened.cairn.documents
        self._store = opened.cairn.store
        self._world = opened.cairn.world

    @property
    def opened(self) -> Opened:
        """What the ports of this backend share."""
        return self._opened


def port_method(method: M) -> M:
    """A method of a port: the bucket is checked before the first one, and only errors of the domain come out."""

    @wraps(method)
    async def wrapper(self: CairnPort, /, *args: object, **kwargs: object) -> object:
        try:
            if not self.opened.checked:
                await self.opened.check()
            return await method(self, *args, **kwargs)
        except CairnError as error:
            raise translate(error) from error

    return cast("M", wrapper)
