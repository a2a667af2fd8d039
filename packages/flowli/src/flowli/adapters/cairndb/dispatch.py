"""``Dispatch`` over claims: a start claim is a document of generations, any other stands until it is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.cairndb.opened import CairnPort, port_method
from flowli.adapters.cairndb.scan import list_page, read_all
from flowli.adapters.cairndb.tokens import doc_of, token_of
from flowli.cairn.objects import Doc
from flowli.cairn.values import JSON
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.data import Data
from flowli.domain.ports.dispatch import Claim, StandingClaim, StartClaim

__all__ = ["CairnDispatch"]


class CairnDispatch(CairnPort):
    """Claims."""

    @port_method
    async def claim(self, key: str, value: Data) -> Claim:
        claimed = await self._cairn.claims.claim(keys.claim(key), value)
        return Claim(claimed.value, claimed.won)

    @port_method
    async def claims(self, prefix: str, *, after: str = "", limit: int = 1000) -> Sequence[StandingClaim]:
        last = keys.CLAIMS + after if after else None
        while True:
            page = await list_page(self._documents, keys.CLAIMS + prefix, after=last, limit=limit)
            docs = await read_all(self._documents, [item.key for item in page.items])
            if docs or not page.more or not page.items:
                return [_standing(doc) for doc in docs]
            last = page.items[-1].key  # all of this page were forgotten meanwhile

    @port_method
    async def forget_claim(self, found: StandingClaim) -> bool:
        doc = doc_of(keys.claim(found.key), found.token)
        return doc is not None and await self._documents.remove(doc)

    @port_method
    async def claim_start(self, claim: StartClaim) -> StartClaim:
        return await self._create(claim)

    @port_method
    async def read_start(self, key: str) -> StartClaim | None:
        doc = await self._documents.read(keys.dispatch(key))
        return None if doc is None else _claim(doc)

    @port_method
    async def replace_start(self, found: StartClaim, claim: StartClaim) -> StartClaim:
        doc = doc_of(keys.dispatch(found.key), found.token) or await self._documents.read(keys.dispatch(found.key))
        if doc is not None:
            if not found.token and not _same(doc, found):
                return _claim(doc)
            outcome = await self._documents.swap(doc, _body(claim))
            if outcome.doc is not None:
                return _claim(outcome.doc)
        # forgotten meanwhile: the key is free
        return await self._create(claim)

    @port_method
    async def forget_start(self, found: StartClaim) -> None:
        doc = doc_of(keys.dispatch(found.key), found.token) or await self._documents.read(keys.dispatch(found.key))
        if doc is not None and (found.token or _same(doc, found)):
            await self._documents.remove(doc)

    async def _create(self, claim: StartClaim) -> StartClaim:
        return _claim((await self._documents.create(keys.dispatch(claim.key), _body(claim))).doc)


def _standing(doc: Doc) -> StandingClaim:
    return StandingClaim(doc.key.removeprefix(keys.CLAIMS), doc.body["value"], token_of(doc))


def _same(doc: Doc, found: StartClaim) -> bool:
    return replace(_claim(doc), token="") == found


def _claim(doc: Doc) -> StartClaim:
    return replace(load(StartClaim, doc.body), token=token_of(doc))


def _body(claim: StartClaim) -> dict[str, JSON]:
    return dump(replace(claim, token=""))
