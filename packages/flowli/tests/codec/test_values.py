"""K18: a recorded value comes back equal and of equal type, or is refused with the path to the bad part."""

from __future__ import annotations

import collections.abc as abc
import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import pydantic
import pytest

from flowli import codec
from flowli.domain.errors import InvalidValue
from flowli.timestamp import Timestamp

T = TypeVar("T")
Sku = NewType("Sku", str)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Word(StrEnum):
    YES = "yes"


OldWord = Enum("OldWord", {"NO": "no"}, type=str)


class Shape(Enum):
    POINT = (0, 0)
    LINE = (1, 2)


class Rights(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: Decimal


class Row(TypedDict):
    name: str
    due: NotRequired[date]


@dataclass
class Item:
    sku: Sku
    price: Decimal
    note: Any = None


@dataclass(frozen=True, slots=True)
class Order:
    items: list[Item]
    by: UUID
    at: datetime
    tags: frozenset[str] = frozenset()
    before: Order | None = None
    prices: dict[str, Decimal] = field(default_factory=dict)


@dataclass
class Approved:
    by: str


@dataclass
class Rejected:
    by: str


@dataclass
class Cached:
    n: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.n


@dataclass
class Box(Generic[T]):
    content: T


@attrs.define
class Crate:
    weight: Decimal
    labels: set[str] = attrs.Factory(set)


class Model(pydantic.BaseModel):
    when: datetime
    amounts: tuple[Decimal, ...] = ()
    kind: Literal["a", "b"] = "a"


NOON_IN_PARIS = datetime(2025, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris"))
ORDER = Order(
    [Item(Sku("s-1"), Decimal("1.50"), {"k": [1, None]}), Item(Sku("s-2"), Decimal("2E+3"))],
    UUID(int=7),
    NOON_IN_PARIS,
    frozenset({"new", "eu"}),
    Order([], UUID(int=8), datetime(2024, 1, 1, tzinfo=UTC)),
    {"a b": Decimal("0.10")},
)

COMES_BACK = [
    (None, Any),
    (True, Any),
    (2**64 - 1, Any),
    (-(2**63), int),
    (-0.0, float),
    (3, float),
    ("é\0\U0001f980", str),
    ({"a": [1, 2.5, {"": None}]}, Any),
    ({"a": [1]}, dict[str, list[int]]),
    ([1, "a"], abc.Sequence[int | str]),
    ({"a": 1}, abc.Mapping[str, int]),
    ((1, "a"), tuple[int, str]),
    ((), tuple[int, ...]),
    ((1, (2, 3)), tuple[int, tuple[int, int]]),
    ({1: "a", -2: "b"}, dict[int, str]),
    ({(1, "a"): Decimal(1)}, dict[tuple[int, str], Decimal]),
    ({UUID(int=1): {date(2025, 1, 1)}}, dict[UUID, set[date]]),
    ({True: 1, False: 0}, dict[bool, int]),
    ({3, 1, 2}, set[int]),
    (frozenset({"a"}), frozenset[str]),
    (deque([1, 2]), deque[int]),
    (OrderedDict(b=1, a=2), OrderedDict[str, int]),
    (NOON_IN_PARIS, datetime),
    (datetime(2025, 1, 1, 0, 0, 0, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30))), datetime),
    (datetime(1, 1, 1), datetime),
    (date(9999, 12, 31), date),
    (time(12, 30, tzinfo=UTC), time),
    (timedelta(days=-3, microseconds=1), timedelta),
    (timedelta.max, timedelta),
    (UUID(int=5), UUID),
    (Decimal("1.00"), Decimal),
    (Decimal("-1E-400"), Decimal),
    (b"\0\xff" * 100, bytes),
    (Path("/a/b"), Path),
    (Timestamp(5), Timestamp),
    (Color.RED, Color),
    (Level.HIGH, Level),
    (Word.YES, Word),
    (OldWord("no"), OldWord),
    (Shape.LINE, Shape),
    (Rights.READ | Rights.WRITE, Rights),
    ([Color.BLUE, None], list[Color | None]),
    ("a", Literal["a", "b"]),
    (Color.RED, Literal[Color.RED]),
    (Sku("x"), Sku),
    (5, Annotated[int, "metres"]),
    (ORDER, Order),
    ([ORDER], list[Order]),
    (Cached(3), Cached),
    (Box(Decimal(1)), Box[Decimal]),
    (Box([Box("x")]), Box[list[Box[str]]]),
    (Crate(Decimal(3), {"b", "a"}), Crate),
    (Model(when=NOON_IN_PARIS, amounts=(Decimal("1.0"),), kind="b"), Model),
    (Point(1, Decimal(2)), Point),
    ({"name": "x", "due": date(2025, 1, 1)}, Row),
    (None, Order | None),
    (Rejected("bob"), Approved | Rejected),
    ([Approved("a"), None, Rejected("b")], list[Approved | Rejected | None]),
    (Approved("bob"), Approved | dict[str, str]),
    ({"by": "bob"}, Approved | dict[str, str]),
    ("2025-01-01", date | str),
    (date(2025, 1, 1), date | str),
    (datetime(2025, 1, 1, tzinfo=UTC), date | datetime | str),
    (7, int | str | None),
    (Decimal("7"), Decimal | float),
    ([1], list[int] | set[int]),
    ({1}, list[int] | set[int]),
]


def shown(value: object) -> str:
    """For the names of tests."""
    try:
        return re.sub(" at 0x.*", "", repr(value))[:30]
    except RecursionError:
        return "deep"


@pytest.mark.parametrize(("value", "hint"), COMES_BACK, ids=shown)
def test_a_value_comes_back_equal_and_of_equal_type(value: object, hint: object) -> None:
    """RPL-4."""
    data, live = codec.encode(value, hint)
    replayed = codec.from_data(data, hint)
    for back in (live, replayed):
        assert back == value
        assert type(back) is type(value)
        assert repr(back) == repr(live)
    assert codec.to_data(replayed, hint) == data, "recording it again gives the same data"
    assert codec.digest(codec.to_data(live, hint)) == codec.digest(data)


def test_an_aware_datetime_keeps_its_hour_and_offset() -> None:
    back = codec.from_data(codec.to_data(NOON_IN_PARIS, datetime), datetime)
    assert isinstance(back, datetime)
    assert (back.hour, back.utcoffset()) == (12, timedelta(hours=2))


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def holding_itself() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


class Plain:
    pass


class MyInt(int):
    pass


class MyDict(dict[str, int]):
    pass


REFUSED = [
    ((1, 2), Any, "value", "tuple"),
    ({"a": [(1,)]}, Any, "value.a[0]", "tuple"),
    ({1, 2}, Any, "value", "set"),
    ({"a": {1: "x"}}, Any, "value.a[1]", "JSON keys are texts"),
    (2**64, Any, "value", "65 bits"),
    ([0, {"n": -(2**63) - 1}], Any, "value[1].n", "64 bits"),
    (float("nan"), Any, "value", "nan"),
    ([1.0, float("-inf")], list[float], "value[1]", "inf"),
    ("\ud800", Any, "value", "surrogate"),
    ({"\udc00": 1}, Any, "value", "surrogate"),
    (nested(2000), Any, "value[0][0]", "200 levels"),
    (holding_itself(), Any, "value[0][0]", "200 levels"),
    (b"x", Any, "value", "bytes"),
    (ORDER, Any, "value", "annotate the function with Order"),
    ({"order": Approved("x")}, dict[str, Any], "value.order", "Approved"),
    (Color.RED, Any, "value", "Color"),
    (Level.LOW, Any, "value", "Level"),
    (Word.YES, Any, "value", "Word"),
    (Word.YES, str, "value", "Word"),
    (MyInt(1), int, "value", "MyInt"),
    (MyDict(), Any, "value", "MyDict"),
    (OrderedDict(a=1), dict[str, int], "value", "OrderedDict"),
    (Plain(), Any, "value", "Plain"),
    (Plain(), object, "value", "Plain"),
    (Plain(), Plain, "value", ""),
    (lambda: 1, Any, "value", "function"),
    ({"key with space": {1}}, Any, "value['key with space']", "set"),
    (datetime(2025, 1, 1, tzinfo=UTC), date, "value", "datetime"),
    (Item(Sku("a"), 1.5), Item, "value.price", "float"),  # type: ignore[arg-type]
    (Item(Sku("a"), Decimal(1), {"x": [1, (2,)]}), Item, "value.note.x[1]", "tuple"),
    (Order([Item(Sku("a"), Decimal(1), 2**70)], UUID(int=1), NOON_IN_PARIS), Order, "value.items[0].note", "71 bits"),
    ([Approved("a"), Plain()], list[Approved | Rejected], "value[1]", "Plain"),
    ({"by": "x"}, Approved, "value", "dict"),
    ((1, 2, 3), tuple[int, int], "value", "3 items"),
    ([1, 2], tuple[int, int], "value", "list"),
    (Box(1.0), Box[Decimal], "value.content", "float"),
    ({"x": Crate("heavy")}, dict[str, Crate], "value.x.weight", "str"),  # type: ignore[arg-type]
    ({1: "a", "1": "b"}, dict[Any, str], "value[1]", "JSON keys are texts"),
]


@pytest.mark.parametrize(("value", "hint", "path", "why"), REFUSED, ids=shown)
def test_what_would_not_come_back_is_refused_with_its_path(value: object, hint: object, path: str, why: str) -> None:
    """RPL-4."""
    with pytest.raises(InvalidValue) as caught:
        codec.to_data(value, hint)
    assert caught.value.path.startswith(path)
    assert str(caught.value).startswith(path)
    assert why in caught.value.problem
    assert len(str(caught.value)) < 600


def test_two_hundred_levels_are_taken() -> None:
    assert codec.to_data(nested(200)) == nested(200)
    with pytest.raises(InvalidValue):
        codec.to_data(nested(201))


def test_the_path_begins_with_the_name_it_is_given() -> None:
    with pytest.raises(InvalidValue, match=r"^args\.items\[3\]\.price: a float, where Decimal is annotated"):
        codec.to_data([Item(Sku("a"), Decimal(1))] * 3 + [Item(Sku("b"), 0.1)], list[Item], path="args.items")  # type: ignore[arg-type]


def test_a_subclass_instance_that_would_come_back_as_its_base_is_refused() -> None:
    @dataclass
    class Special(Approved):
        more: int = 0

    with pytest.raises(InvalidValue, match="Special"):
        codec.to_data(Special("x"), Approved)


def test_data_shares_nothing_with_the_value_nor_the_value_with_the_data() -> None:
    inner: list[object] = [1]
    value = {"a": inner}
    data, live = codec.encode(value, Any)
    inner.append(2)
    assert data == live == {"a": [1]}
    back = codec.from_data(data)
    assert isinstance(back, dict)
    back["a"].append(3)
    assert data == {"a": [1]}
    item = Item(Sku("a"), Decimal(1), inner)
    recorded = codec.to_data(item, Item)
    inner.append(4)
    first = codec.from_data(recorded, Item)
    assert isinstance(first, Item)
    assert first.note == [1, 2]
    first.note.append(5)
    assert codec.from_data(recorded, Item) == Item(Sku("a"), Decimal(1), [1, 2])


def test_sets_are_recorded_in_one_order() -> None:
    assert codec.to_data({"b", "a", "c"}, set[str]) == ["a", "b", "c"]
    assert codec.digest(codec.to_data({3, 20, 1}, set[int])) == codec.digest(codec.to_data({20, 1, 3}, set[int]))


DURATIONS = {
    "P2D": timedelta(days=2),
    "P1W": timedelta(weeks=1),
    "PT1H30M": timedelta(minutes=90),
    "P1DT2H3M4.5S": timedelta(days=1, hours=2, minutes=3, seconds=4.5),
    "-PT0,25S": timedelta(seconds=-0.25),
    "+P1D": timedelta(days=1),
    "PT172800S": timedelta(days=2),
}


@pytest.mark.parametrize(("text", "meant"), DURATIONS.items())
def test_durations_are_read_in_every_form_whose_length_is_certain(text: str, meant: timedelta) -> None:
    assert codec.from_data(text, timedelta) == meant


BAD_DATA = [
    (
        {"items": [{"sku": "a", "price": "x"}], "by": str(UUID(int=1)), "at": "2025-01-01"},
        Order,
        "value.items[0].price",
    ),
    ({"items": 3, "by": str(UUID(int=1)), "at": "2025-01-01"}, Order, "value.items"),
    ({"items": [], "by": str(UUID(int=1))}, Order, "value.at"),
    ([1], Order, "value"),
    ("x", Color, "value"),
    (["x"], list[Color], "value[0]"),
    ({"when": "never"}, Model, "value.when"),
    ("not base64!", bytes, "value"),
    *(
        (text, timedelta, "value")
        for text in ("PT5", "P", "PT", "P1DT", "P1M", "P1Y", "P5", "1D", "PT1.5H", f"P{'9' * 5000}D")
    ),
    ({"x": 1}, dict[int, int], "value.x"),
    ({"a": {"sku": 1}}, dict[str, Item], "value.a.price"),
    ({"$type": "Other"}, Approved | Rejected, "value"),
]


@pytest.mark.parametrize(("data", "hint", "path"), BAD_DATA, ids=shown)
def test_data_of_another_form_is_refused_with_its_path(data: Any, hint: object, path: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        codec.from_data(data, hint)
    assert caught.value.path == path


def test_plain_values_are_not_checked_against_their_annotation_unless_asked() -> None:
    assert codec.to_data("x", int) == "x"
    assert codec.to_data(None, str) is None
    with pytest.raises(InvalidValue, match="value: a str, where int is annotated"):
        codec.to_data("x", int, strict=True)
    with pytest.raises(InvalidValue, match=r"value\[1\]: None, where int is annotated"):
        codec.to_data([1, None], list[int], strict=True)
    with pytest.raises(InvalidValue, match=r"value\.by: an int, where str is annotated"):
        codec.to_data(Approved(3), Approved, strict=True)  # type: ignore[arg-type]
    assert codec.to_data([1, 2.5, True], list[float], strict=True) == [1, 2.5, True]
