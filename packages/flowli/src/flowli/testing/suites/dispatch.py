"""``DispatchSuite``: the contract of ``flowli.domain.ports.Dispatch`` as tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from flowli.domain.data import Data
from flowli.domain.ports import Ports, StandingClaim, StartClaim
from flowli.testing.suites.port_suite import PortSuite, after_s, by, new_eid

__all__ = ["DispatchSuite"]

_KEYS = ["order:17@eu", "a.b", "A", "a", "x=1+2~3", "-", "k" * 200]


def _start(key: str, request: str = "r-1", generation: int = 1) -> StartClaim:
    return StartClaim(key, generation, new_eid(), "order", "1", "ab" * 32, by(), request, "finance", 7)


def _same(one: StartClaim | None, other: StartClaim) -> bool:
    """Equal but for the token, which is the backend's."""
    return one is not None and replace(one, token="") == replace(other, token="")


async def _all(ports: Ports, prefix: str) -> list[StandingClaim]:
    """Page by page, to the end."""
    found: list[StandingClaim] = []
    while page := await ports.dispatch.claims(prefix, after=found[-1].key if found else "", limit=2):
        found += page
    return found


class DispatchSuite(PortSuite):
    """Decisions that are taken exactly once."""

    async def test_the_first_claim_wins_and_all_learn_its_value(self, ports: Ports) -> None:
        first = await ports.dispatch.claim("slot", {"by": "first"})
        again = await ports.dispatch.claim("slot", {"by": "second"})
        assert (first.won, first.value) == (True, {"by": "first"})
        assert (again.won, again.value) == (False, {"by": "first"})

    async def test_of_many_claims_exactly_one_wins(self, ports: Ports) -> None:
        """WAI-21."""
        claims = await asyncio.gather(*(ports.dispatch.claim("slot", n) for n in range(16)))
        winners = [n for n, claim in enumerate(claims) if claim.won]
        assert len(winners) == 1
        assert [claim.value for claim in claims] == winners * 16

    @pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
    async def test_an_empty_value_is_a_decision_too(self, ports: Ports, value: Data) -> None:
        assert (await ports.dispatch.claim("slot", value)).won
        again = await ports.dispatch.claim("slot", "other")
        assert (again.won, again.value) == (False, value)

    async def test_claiming_the_same_value_again_is_not_won_again(self, ports: Ports) -> None:
        assert (await ports.dispatch.claim("slot", "mine")).won
        assert not (await ports.dispatch.claim("slot", "mine")).won

    async def test_claims_are_found_by_the_beginning_of_their_keys(self, ports: Ports) -> None:
        for key in ("b:1", "a:2", "a:1", "a:10", "A:1", "aa"):
            await ports.dispatch.claim(key, {"of": key})
        await ports.dispatch.claim_start(_start("a:3"))
        assert [claim.key for claim in await _all(ports, "a:")] == ["a:1", "a:10", "a:2"]
        assert [claim.value for claim in await _all(ports, "b")] == [{"of": "b:1"}]
        assert [claim.key for claim in await ports.dispatch.claims("a:", after="a:1", limit=1)] == ["a:10"]
        assert await _all(ports, "c") == []

    async def test_a_claim_that_was_forgotten_can_be_decided_anew(self, ports: Ports) -> None:
        """RET-11."""
        await ports.dispatch.claim("slot", 1)
        (found,) = await ports.dispatch.claims("slot")
        assert await ports.dispatch.forget_claim(found)
        assert not await ports.dispatch.forget_claim(found)
        assert await ports.dispatch.claims("slot") == []
        assert (await ports.dispatch.claim("slot", 1)).won

    async def test_a_claim_that_was_decided_anew_is_not_forgotten(self, ports: Ports) -> None:
        """RET-11: whoever found the one before comes too late."""
        await ports.dispatch.claim("slot", 1)
        (found,) = await ports.dispatch.claims("slot")
        await ports.dispatch.forget_claim(found)
        await ports.dispatch.claim("slot", 1)
        assert not await ports.dispatch.forget_claim(found)
        assert not (await ports.dispatch.claim("slot", 2)).won

    async def test_keys_are_told_apart(self, ports: Ports) -> None:
        for key in _KEYS:
            assert (await ports.dispatch.claim(key, key)).won
            assert _same(await ports.dispatch.claim_start(_start(key, request=key)), _start(key)) is False
        for key in _KEYS:
            assert (await ports.dispatch.claim(key, None)).value == key
            stands = await ports.dispatch.read_start(key)
            assert stands is not None
            assert (stands.key, stands.request) == (key, key)

    async def test_a_key_that_nobody_claimed(self, ports: Ports) -> None:
        assert await ports.dispatch.read_start("order:1") is None

    async def test_start_claims_come_back_equal(self, ports: Ports) -> None:
        claim = _start("order:1")
        assert _same(await ports.dispatch.claim_start(claim), claim)
        assert _same(await ports.dispatch.read_start("order:1"), claim)

    async def test_of_many_start_claims_one_stands_for_all(self, ports: Ports) -> None:
        rivals = [_start("order:1", request=f"r-{n}") for n in range(12)]
        stood = await asyncio.gather(*(ports.dispatch.claim_start(rival) for rival in rivals))
        winner = next(rival for rival in rivals if _same(stood[0], rival))
        assert all(_same(claim, winner) for claim in stood)
        assert _same(await ports.dispatch.read_start("order:1"), winner)

    async def test_the_next_generation_replaces_what_was_found(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        second = _start("order:1", "r-2", 2)
        assert _same(await ports.dispatch.replace_start(found, second), second)
        assert _same(await ports.dispatch.read_start("order:1"), second)

    async def test_what_changed_meanwhile_is_not_replaced(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        second, late = _start("order:1", "r-2", 2), _start("order:1", "r-3", 2)
        await ports.dispatch.replace_start(found, second)
        assert _same(await ports.dispatch.replace_start(found, late), second)
        assert _same(await ports.dispatch.read_start("order:1"), second)

    async def test_replacing_with_equal_content_is_a_change_too(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        changed = await ports.dispatch.replace_start(found, _start("order:1", "r-2", 2))
        await ports.dispatch.replace_start(changed, replace(found, token=""))
        late = _start("order:1", "r-3", 2)
        assert _same(await ports.dispatch.replace_start(found, late), found)

    async def test_of_many_replacements_one_stands_for_all(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        rivals = [_start("order:1", f"r-{n}", 2) for n in range(12)]
        stood = await asyncio.gather(*(ports.dispatch.replace_start(found, rival) for rival in rivals))
        winner = next(rival for rival in rivals if _same(stood[0], rival))
        assert all(_same(claim, winner) for claim in stood)

    async def test_retention_marks_a_claim_as_folded(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        folded = await ports.dispatch.replace_start(found, replace(found, folded_at=after_s(60)))
        assert folded.folded_at == after_s(60)
        assert _same(await ports.dispatch.read_start("order:1"), folded)

    async def test_an_expired_claim_is_forgotten(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        await ports.dispatch.forget_start(found)
        await ports.dispatch.forget_start(found)
        assert await ports.dispatch.read_start("order:1") is None
        fresh = _start("order:1", "r-2")
        assert _same(await ports.dispatch.claim_start(fresh), fresh)

    async def test_a_claim_that_changed_is_not_forgotten(self, ports: Ports) -> None:
        found = await ports.dispatch.claim_start(_start("order:1"))
        second = await ports.dispatch.replace_start(found, _start("order:1", "r-2", 2))
        await ports.dispatch.forget_start(found)
        assert _same(await ports.dispatch.read_start("order:1"), second)
