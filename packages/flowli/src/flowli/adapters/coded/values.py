"""``Values``: one value on its way into the bucket or out of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeAlias, TypeVar, cast

import orjson
import structlog

from flowli import codec
from flowli.adapters.coded.codec import ValueCodec
from flowli.adapters.coded.places import Place
from flowli.adapters.coded.stored import KEY, Escaped, Inline, Offloaded, parse
from flowli.domain.data import Data
from flowli.domain.errors import PayloadTooLarge, ValueUnreadable
from flowli.domain.ids import Eid
from flowli.domain.ports import Evidence
from flowli.world import World

__all__ = ["OFFLOADED", "Sealed", "Values"]

T = TypeVar("T")
Placed: TypeAlias = tuple[Data, Place]

_log = structlog.get_logger("flowli.codec")

OFFLOADED = "~values/"
"""How the names of bodies begin that hold large values. No frame is named so."""

_THREAD_FROM_BYTES = 64 * 1024
_THREADS = 2
_AT_ONCE = 16
_REMEMBERED = 1024


class Sealed(dict[str, Data]):
    """A stored form that could not be read here, in the place of its value: in listings, and in tasks that wake."""


class Values:
    """Encodes and decodes values for the ports of one backend, on one event loop.

    Args:
        made_by: the codec.
        evidence: where large values go; the backend's own port.
        world: its threads do the work on large values.
    """

    def __init__(self, made_by: ValueCodec, evidence: Evidence, world: World) -> None:
        self.codec = made_by
        self._evidence = evidence
        self._world = world
        self._pool: Executor | None = None
        self._free = asyncio.Semaphore(_AT_ONCE)
        # one value is stored in several places when an execution starts; its body is put once
        self._offloaded: OrderedDict[tuple[bytes, Place], Offloaded] = OrderedDict()
        self._told: OrderedDict[str, None] = OrderedDict()

    async def encode(self, value: Data, place: Place, *, offload: bool = True) -> Data:
        """The stored form of ``value``; ``value`` itself if no step changes it and it is small.

        Args:
            offload: whether a large one may become a body of its own.

        Raises:
            PayloadTooLarge: it is over the limit.
            ValueUnreadable: it is ``Sealed``: nobody here knows what it is.
        """
        if isinstance(value, Sealed):
            raise ValueUnreadable(f"{place.label}: a value that cannot be read here cannot be written anew")
        clear = codec.canonical(value)
        if len(clear) > self.codec.max_value_bytes:
            raise PayloadTooLarge(
                f"a value of {place.label} has {len(clear):,} bytes and the limit is {self.codec.max_value_bytes:,} "
                "(ValueCodec.max_value_bytes); store it elsewhere and pass a reference"
            )
        known = None
        if offload and place.home is not None and len(clear) > self.codec.inline_bytes:
            known = await self._aside(len(clear), lambda: _digest(clear)), place
            if known in self._offloaded:
                return self._offloaded[known].to_data()
        steps, body = await self._aside(len(clear), lambda: self.codec.seal(clear, place.context))
        if offload and len(body) > self.codec.inline_bytes:
            if place.home is None:
                raise PayloadTooLarge(
                    f"a value of {place.label} has {len(body):,} bytes and the limit for what belongs to no execution "
                    f"is {self.codec.inline_bytes:,} (ValueCodec.inline_bytes); store it elsewhere and pass a reference"
                )
            stored = await self._offload(steps, body, place.home)
            if known is not None:
                self._remember(known, stored)
            return stored.to_data()
        if steps:
            return Inline(steps, body).to_data()
        return Escaped(value).to_data() if type(value) is dict and value.keys() == {KEY} else value

    async def decode(self, data: Data, place: Place) -> Data:
        """The value behind its stored form.

        Raises:
            ValueUnreadable: it cannot be read here; the error says what is missing, once in the log as well.
        """
        try:
            stored = parse(data)
            if stored is None:
                return data
            if isinstance(stored, Escaped):
                return stored.value
            body = stored.data if isinstance(stored, Inline) else await self._fetch(stored, place.home)
            clear = await self._aside(len(body), lambda: self.codec.open(stored.steps, body, place.context))
            if isinstance(stored, Offloaded):
                self._remember((await self._aside(len(clear), lambda: _digest(clear)), place), stored)
            return cast("Data", orjson.loads(clear))
        except ValueUnreadable as error:
            raise self._unreadable(error, place) from error

    async def decode_or_sealed(self, data: Data, place: Place) -> Data:
        """The value, or its stored form as it is where it cannot be read: for listings."""
        try:
            return await self.decode(data, place)
        except ValueUnreadable:
            return Sealed(cast("dict[str, Data]", data))

    async def decode_all(self, values: Sequence[Placed]) -> list[Data]:
        """``decode`` for many; bodies of their own are fetched at once."""
        coded = [n for n, (data, _) in enumerate(values) if type(data) is dict and KEY in data]
        decoded = [data for data, _ in values]
        found = await asyncio.gather(*(self.decode(*values[n]) for n in coded))
        for n, value in zip(coded, found, strict=True):
            decoded[n] = value
        return decoded

    def forget(self, home: Eid) -> None:
        """The bodies of a home were deleted."""
        for known in [known for known in self._offloaded if known[1].home == home]:
            del self._offloaded[known]

    async def seal_bytes(self, data: bytes, place: Place) -> tuple[tuple[str, ...], bytes]:
        """Take bytes through the steps."""
        return await self._aside(len(data), lambda: self.codec.seal(data, place.context))

    async def open_bytes(self, steps: Sequence[str], data: bytes, place: Place) -> bytes:
        """Undo ``seal_bytes``.

        Raises:
            ValueUnreadable: as ``decode``.
        """
        try:
            return await self._aside(len(data), lambda: self.codec.open(steps, data, place.context))
        except ValueUnreadable as error:
            raise self._unreadable(error, place) from error

    async def _offload(self, steps: tuple[str, ...], body: bytes, home: Eid) -> Offloaded:
        name = OFFLOADED + (await self._aside(len(body), lambda: _digest(body))).hex()
        await self._evidence.put(home, name, body)
        return Offloaded(steps, name, len(body))

    async def _fetch(self, stored: Offloaded, home: Eid | None) -> bytes:
        async with self._free:
            body = None if home is None else await self._evidence.get(home, stored.body)
        if body is None:
            raise ValueUnreadable(
                f"the body {stored.body} of a large value is not in the bucket; it was deleted from outside"
            )
        if OFFLOADED + (await self._aside(len(body), lambda: _digest(body))).hex() != stored.body:
            raise ValueUnreadable(f"the body {stored.body} of a large value was changed")
        return body

    def _remember(self, known: tuple[bytes, Place], stored: Offloaded) -> None:
        self._offloaded[known] = stored
        self._offloaded.move_to_end(known)
        if len(self._offloaded) > _REMEMBERED:
            self._offloaded.popitem(last=False)

    async def _aside(self, size: int, work: Callable[[], T]) -> T:
        """Do work that takes long in a thread, and other work at once."""
        if size < _THREAD_FROM_BYTES:
            return work()
        if self._pool is None:
            self._pool = self._world.pool("flowli-codec", _THREADS)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _unreadable(self, error: ValueUnreadable, place: Place) -> ValueUnreadable:
        told = ValueUnreadable(f"{place.label}: {error}. Nothing is lost; it waits for a process that can read it")
        if str(error) not in self._told:
            self._told[str(error)] = None
            if len(self._told) > _REMEMBERED:
                self._told.popitem(last=False)
            _log.error("a stored value cannot be read here, perhaps others neither", error=str(told))
        return told


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
