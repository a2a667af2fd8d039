"""Whatever payload, whatever annotated value: it comes back the same."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgpack
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli import codec
from flowli.codec.same import check_same
from flowli.domain.data import Data
from flowli.domain.errors import InvalidValue
from flowli.testing.strategies import payloads

quick = settings(max_examples=60, deadline=None)


class Size(Enum):
    S = "s"
    L = "l"


@dataclass(frozen=True)
class Leaf:
    size: Size
    weight: Decimal
    when: datetime | None
    payload: Any


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    by_id: dict[UUID, Leaf]
    by_day: dict[date, set[int]]
    next: Tree | None
    either: Leaf | timedelta | str | list[bytes]


leaves = st.builds(
    Leaf,
    st.sampled_from(Size),
    st.decimals(allow_nan=False),
    st.none() | st.datetimes(timezones=st.just(UTC)) | st.datetimes(),
    payloads(),
)
trees: st.SearchStrategy[Tree] = st.deferred(
    lambda: st.builds(
        Tree,
        st.lists(leaves, max_size=2).map(tuple),
        st.dictionaries(st.uuids(), leaves, max_size=2),
        st.dictionaries(st.dates(), st.sets(st.integers(-5, 5)), max_size=2),
        st.none() | trees,
        leaves
        | st.timedeltas()
        | st.text(st.characters(exclude_categories=["Cs"]))
        | st.lists(st.binary(), max_size=2),
    )
)


@quick
@given(payloads())
def test_payloads_come_back_the_same_through_json_and_msgpack(payload: Data) -> None:
    data = codec.to_data(payload)
    check_same(payload, codec.from_data(data))
    check_same(payload, orjson.loads(codec.canonical(data)))
    check_same(payload, msgpack.unpackb(msgpack.packb(data, strict_types=True)))


@quick
@given(trees)
def test_typed_values_come_back_the_same(tree: Tree) -> None:
    data, live = codec.encode(tree, Tree)
    check_same(live, tree)
    check_same(codec.from_data(orjson.loads(codec.canonical(data)), Tree), tree)


@quick
@given(payloads())
def test_the_order_of_keys_does_not_change_a_digest(payload: Data) -> None:
    def turned(value: Data) -> Data:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    assert codec.digest(payload) == codec.digest(turned(payload))


@quick
@given(st.recursive(payloads() | st.binary() | st.just(float("nan")), lambda x: st.lists(x) | st.tuples(x, x)))
def test_any_value_comes_back_or_is_refused(value: object) -> None:
    try:
        data = codec.to_data(value)
    except InvalidValue:
        return
    check_same(value, codec.from_data(data))


@quick
@given(payloads(), st.sampled_from([int, list[int], Tree, dict[int, Leaf], Leaf | str, set[date], bytes, Size]))
def test_any_data_is_read_or_refused(data: Data, hint: object) -> None:
    for strict in (False, True):
        with contextlib.suppress(InvalidValue):
            codec.from_data(data, hint, strict=strict)
