import asyncio
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.cairn.tail import last_present


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 200_000), st.integers(0, 200_000))
def test_tail_is_found_in_logarithmically_many_reads(start: int, more: int) -> None:
    end = start + more
    asked: list[int] = []

    async def read(number: int) -> int | None:
        asked.append(number)
        return number if start < number <= end else None

    assert asyncio.run(last_present(read, start)) == (end, end if more else None)
    assert len(asked) <= 8 * (log2(more + 2) / 3 + 3)
    assert all(number > start for number in asked)


@pytest.mark.parametrize("more", [0, 1, 7, 8, 9, 127, 128, 129])
async def test_edges(more: int) -> None:
    async def read(number: int) -> int | None:
        return number if number <= 10 + more else None

    assert (await last_present(read, 10))[0] == 10 + more
