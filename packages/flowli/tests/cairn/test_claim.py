import asyncio

from flowli.cairn.claim import Claimed
from flowli.cairn.database import Cairn
from flowli.testing.stores import CountingStore


async def test_winner_writes_once_and_losers_learn_its_value(cairn: Cairn, store: CountingStore) -> None:
    assert await cairn.claims.claim("wf/claims/a", {"by": "one"}) == Claimed({"by": "one"}, True)
    assert (store.since().put, store.since().get) == (1, 0)
    assert await cairn.claims.claim("wf/claims/a", {"by": "two"}) == Claimed({"by": "one"}, False)
    assert (store.since().put, store.since().get) == (2, 1)


async def test_of_many_claims_one_wins(cairn: Cairn) -> None:
    claims = await asyncio.gather(*(cairn.claims.claim("c", n) for n in range(20)))
    assert sum(one.won for one in claims) == 1
    assert len({one.value for one in claims}) == 1


async def test_reading_a_claim_claims_nothing(cairn: Cairn) -> None:
    assert await cairn.claims.read("c") is None
    await cairn.claims.claim("c", None)
    assert await cairn.claims.read("c") == Claimed(None, False)
