"""Arguments are bound, recorded once in one form, and read back for the call."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import BadArguments, InvalidValue

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass
class Order:
    id: str
    total: Decimal


async def workflow(ctx: object, order: Order, days: int = 30, *, note: str = cast("str", None)) -> Decimal:
    return order.total * days


def step(a: int, /, b: int, *rest: Decimal, c: date | None = None, **more: tuple[int, ...]) -> set[int]:
    return {a, b}


ORDER = Order("o-1", Decimal("1.50"))
ORDER_DATA: dict[str, Data] = {"id": "o-1", "total": "1.50"}


def test_one_call_has_one_recorded_form() -> None:
    forms = [
        codec.arguments(workflow, (ORDER, 5), {}, True),
        codec.arguments(workflow, (ORDER,), {"days": 5}, True),
        codec.arguments(workflow, (), {"days": 5, "order": ORDER}, True),
    ]
    assert forms[0] == forms[1] == forms[2] == {"args": [ORDER_DATA, 5], "kwargs": {}}


def test_defaults_are_not_recorded() -> None:
    assert codec.arguments(workflow, (ORDER,), {}, True) == {"args": [ORDER_DATA], "kwargs": {}}


def test_arguments_come_back_for_the_call() -> None:
    data = codec.arguments(step, (1, 2, Decimal("3.0"), Decimal(4)), {"c": date(2025, 1, 1), "x": (1, 2)}, False)
    args, kwargs = codec.load_arguments(step, data, False)
    assert args == (1, 2, Decimal("3.0"), Decimal(4))
    assert kwargs == {"c": date(2025, 1, 1), "x": (1, 2)}
    assert step(*args, **kwargs) == {1, 2}  # type: ignore[arg-type]
    assert codec.load_arguments(workflow, codec.arguments(workflow, (ORDER,), {"note": "x"}, True), True) == (
        (ORDER,),
        {"note": "x"},
    )


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, r"^workflow needs its parameter 'order'; its parameters are \("),
        ((ORDER,), {"dayz": 3}, "workflow has no parameter 'dayz'; did you mean 'days'"),
        ((ORDER, 1), {"days": 3}, "workflow got its parameter 'days' twice"),
        ((ORDER, 1, 2, 3), {}, "workflow takes 2 arguments by place but got 4"),
        ((ORDER,), {"ctx": 1}, "workflow has no parameter 'ctx'"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_in_one_sentence(args: Any, kwargs: Any, says: str) -> None:
    with pytest.raises(BadArguments, match=says) as caught:
        codec.arguments(workflow, args, kwargs, True)
    assert "\n" not in str(caught.value)


def test_a_value_that_cannot_be_recorded_is_named_by_its_path() -> None:
    with pytest.raises(InvalidValue, match=r"^args\.order\.total: a float, where Decimal is annotated"):
        codec.arguments(workflow, (Order("x", 1.5),), {}, True)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"^args\.days: a str, where int is annotated"):
        codec.arguments(workflow, (ORDER, "5"), {}, True)
    with pytest.raises(InvalidValue, match=r"^args\.rest: "):
        codec.arguments(step, (1, 2, 3.5), {}, False)
    with pytest.raises(InvalidValue, match=r"^args\.x\[1\]: "):
        codec.arguments(step, (1, 2), {"x": (1, {2})}, False)


def test_a_workflow_takes_typed_arguments_in_their_json_form() -> None:
    assert codec.arguments(workflow, (ORDER_DATA,), {}, True) == codec.arguments(workflow, (ORDER,), {}, True)
    with pytest.raises(InvalidValue, match=r"^args\.order\.total: the field 'total' is missing"):
        codec.arguments(workflow, ({"id": "x"},), {}, True)
    with pytest.raises(InvalidValue):
        codec.arguments(step, (1, 2, "3"), {}, False)


def test_none_is_taken_where_it_is_the_default() -> None:
    assert codec.arguments(workflow, (ORDER,), {"note": None}, True)["kwargs"] == {"note": None}


def test_a_function_without_a_first_parameter_takes_no_context() -> None:
    async def lonely() -> None: ...

    with pytest.raises(BadArguments, match=r"lonely takes no context; write it as async def lonely\(ctx"):
        codec.arguments(lonely, (), {}, True)


def test_callables_of_every_kind() -> None:
    class Service:
        def charge(self, amount: Decimal) -> Decimal:
            return amount

        def __call__(self, amount: Decimal) -> tuple[Decimal]:
            return (amount,)

    @functools.wraps(step)
    def wrapped(*args: Any, **kwargs: Any) -> Any: ...

    amount = {"args": ["1.0"], "kwargs": {}}
    assert codec.arguments(Service().charge, (Decimal("1.0"),), {}, False) == amount
    assert codec.arguments(Service(), (Decimal("1.0"),), {}, False) == amount
    assert codec.arguments(functools.partial(step, 1), (2, Decimal("1.0")), {}, False) == {
        "args": [2, "1.0"],
        "kwargs": {},
    }
    assert codec.arguments(wrapped, (1, 2, Decimal("1.0")), {}, False)["args"] == [1, 2, "1.0"]
    assert codec.arguments(len, ([1],), {}, False) == {"args": [[1]], "kwargs": {}}
    assert codec.return_hint(Service().charge) is Decimal
    assert codec.return_hint(Service()) == tuple[Decimal]
    assert codec.return_hint(workflow) is Decimal
    assert codec.return_hint(wrapped) == set[int]
    assert codec.return_hint(Order) is Order
    assert codec.return_hint(len) is Any


def test_an_annotation_that_exists_for_type_checkers_only_counts_as_none() -> None:
    def half(of: Fraction, more: Decimal) -> Fraction:
        return of / 2

    assert codec.return_hint(half) is Any
    assert codec.arguments(half, (1, Decimal(2)), {}, False) == {"args": [1, "2"], "kwargs": {}}


def test_recorded_arguments_of_a_parameter_that_is_gone_reach_the_call() -> None:
    async def before(ctx: object, a: int, b: int) -> None: ...
    async def after(ctx: object, a: int) -> None: ...

    data = codec.arguments(before, (1, 2), {}, True)
    assert codec.load_arguments(after, data, True) == ((1, 2), {})
