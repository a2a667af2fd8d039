"""The procedure.

1. The target is marked: its layout says from where it is filled, so that no process works on it. A crash leaves the
   mark; the same command goes on.
2. Passes copy what is not there yet, while the source is in use. Each page of what was copied is noted in the target.
3. The cut-over looks for live leases on the source and is refused while there are any.
4. The source is sealed: its layout says to where it moved, so that no process begins to work on it. A crash leaves two
   buckets on which nobody works; the same command goes on, and without the cut-over it opens the source again.
5. A last pass, another look for leases (whoever took one before the seal was seen gets the source back), and a
   verification: every object is read back and compared.
6. The target gets the layout of the source: it is the installation now. Then the pages are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from flowli.cairn.copying.holders import LiveLease, live_leases
from flowli.cairn.copying.manifest import PREFIX, Manifest
from flowli.cairn.copying.sweep import Progress, Swept, sweep, verify
from flowli.cairn.copying.walk import keys_under
from flowli.cairn.document import Changed, Doc
from flowli.cairn.errors import CopyRefused
from flowli.cairn.layout import LAYOUT_KEY, check_layout
from flowli.cairn.objects import Documents
from flowli.cairn.store import ObjectStore
from flowli.cairn.values import JSON
from flowli.world import World

__all__ = ["Move", "Moved"]

_CLOSED = 1_000_000
"""A layout version that no release knows, so that releases without these marks keep out as well."""

_MOST_PASSES = 5

_Change: TypeAlias = Callable[[Mapping[str, JSON]], Mapping[str, JSON]]


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a copy is.

    Attributes:
        keys: how many objects the installation has.
        copied, removed, size_bytes: what was done by this run.
        passes: how many passes it took.
        verified: how many objects were read back and found right.
        mended: how many were not, and were copied anew or removed.
        done: the target is the installation now.
    """

    keys: int
    copied: int
    removed: int
    size_bytes: int
    passes: int
    verified: int
    mended: int
    done: bool


def _quiet(what: str, done: int, total: int) -> None:
    """Nobody wants to know."""


class Move:
    """Moves the installation on one store to another. One process at a time.

    Args:
        source, target: the stores; who made them closes them.
        world: clock and chance.
        progress: is told how far it is.
    """

    def __init__(self, source: ObjectStore, target: ObjectStore, world: World, progress: Progress = _quiet) -> None:
        self._source = Documents(source, world)
        self._target = Documents(target, world)
        self._progress = progress
        self._manifest = Manifest(self._target)
        self._done: list[Swept] = []

    async def run(self, *, cut_over: bool = False) -> Moved:
        """Copy; with ``cut_over`` also finish.

        Raises:
            CopyRefused: the source is no installation, the target is another one, or leases are live.
            StoreError: a store refused.
        """
        if await self._is_done():
            return Moved(0, 0, 0, 0, 0, 0, 0, done=True)
        await self._mark()
        await self._manifest.load()
        if not cut_over:
            await self._unseal()
        await self._pass()
        if self._done[-1].changed:
            await self._pass()
        if not cut_over:
            return self._told(await verify(self._source, self._target, self._manifest, self._progress), done=False)
        await self._refuse_while_live()
        await self._seal()
        try:
            await self._last_passes()
            await self._refuse_while_live()
            checked = await self._verified()
            await self._last_passes()  # the verification took a while
        except BaseException:
            await self._unseal()
            raise
        await self._open()
        return self._told(checked, done=True)

    async def _is_done(self) -> bool:
        source, target = await self._layouts()
        if source is None:
            raise CopyRefused(f"{self._source.store.url} holds no installation of flowli", "Check the first URL")
        moved_to = source.body.get("moved_to")
        if moved_to is not None and moved_to != self._target.store.url:
            raise CopyRefused(f"{self._source.store.url} was moved to {moved_to}", "Copy from there")
        open_target = target is not None and "copied_from" not in target.body
        if moved_to is not None and open_target:
            await self._manifest.drop()
            return True
        if open_target:
            raise CopyRefused(f"{self._target.store.url} holds an installation already", "Name an empty place")
        if moved_to is None:
            check_layout(source)
        return False

    async def _mark(self) -> None:
        _, target = await self._layouts()
        url = self._source.store.url
        if target is None:
            async for one in keys_under(self._target, ""):
                if not one.key.startswith(("wf/probe/", PREFIX)):
                    raise CopyRefused(
                        f"{self._target.store.url} is not empty: it holds {one.key!r}", "Name an empty place"
                    )
            made = await self._target.create(LAYOUT_KEY, {"layout": _CLOSED, "copied_from": url})
            target = made.doc
        other = target.body.get("copied_from")
        if other != url:
            raise CopyRefused(f"{self._target.store.url} is a copy of {other}", "Name an empty place")

    async def _pass(self) -> None:
        self._done.append(await sweep(self._source, self._target, self._manifest, self._progress))

    async def _last_passes(self) -> None:
        for _ in range(_MOST_PASSES):
            await self._pass()
            if not self._done[-1].changed:
                return
        raise CopyRefused(
            f"{self._source.store.url} still changes", "Stop every worker, sweeper, consumer and service that uses it"
        )

    async def _verified(self) -> tuple[int, int]:
        checked, mended = await verify(self._source, self._target, self._manifest, self._progress)
        if mended:
            checked, again = await verify(self._source, self._target, self._manifest, self._progress)
            if again:
                raise CopyRefused(
                    f"{self._target.store.url} does not keep what was written to it", "Run flowli doctor on it"
                )
        return checked, mended

    async def _refuse_while_live(self) -> None:
        live = await live_leases(self._source)
        if live:
            raise CopyRefused(
                _told(live), "Stop what holds them, or wait until they expire; then give --cut-over again"
            )

    async def _seal(self) -> None:
        await self._change(self._source, lambda body: _sealed(body, self._target.store.url))

    async def _unseal(self) -> None:
        await self._change(self._source, _unsealed)

    async def _open(self) -> None:
        source, _ = await self._layouts()
        assert source is not None
        body = _unsealed(source.body)
        await self._change(self._target, lambda _: body)
        await self._manifest.drop()

    async def _change(self, documents: Documents, to: _Change) -> None:
        doc = await documents.read(LAYOUT_KEY)
        while doc is not None:
            body = dict(to(doc.body))
            if body == doc.body:
                return
            done = await documents.swap(doc, body)
            if not isinstance(done, Changed):
                return
            doc = done.doc

    async def _layouts(self) -> tuple[Doc | None, Doc | None]:
        return await self._source.read(LAYOUT_KEY), await self._target.read(LAYOUT_KEY)

    def _told(self, checked: tuple[int, int], *, done: bool) -> Moved:
        return Moved(
            keys=self._done[-1].keys,
            copied=sum(one.copied for one in self._done),
            removed=sum(one.removed for one in self._done),
            size_bytes=sum(one.size_bytes for one in self._done),
            passes=len(self._done),
            verified=checked[0],
            mended=checked[1],
            done=done,
        )


def _sealed(body: Mapping[str, JSON], url: str) -> Mapping[str, JSON]:
    return {**body, "layout": _CLOSED, "was": body.get("was", body.get("layout")), "moved_to": url}


def _unsealed(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    rest = {name: value for name, value in body.items() if name not in ("was", "moved_to", "layout")}
    return {**rest, "layout": body.get("was", body.get("layout"))}


def _told(live: list[LiveLease]) -> str:
    first = live[0]
    more = f" and {len(live) - 1} more" if len(live) > 1 else ""
    return f"{first.key} is held by {first.holder}, who renewed it {first.idle_s:.0f} s ago{more}"
