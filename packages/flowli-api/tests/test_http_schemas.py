"""The schema of a workflow's arguments describes what a start takes."""

import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal
from uuid import UUID

import jsonschema_rs
import pytest

from flowli import Context, Registry, Timestamp, codec
from flowli_api.schemas import argument_schema, result_schema


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Mixed(enum.Enum):
    ONE = "one"
    TWO = 2


START = Timestamp(4)


@dataclass(frozen=True)
class Order:
    number: int
    patience: dt.timedelta = dt.timedelta(days=2)
    mixed: Mixed = Mixed.TWO
    seal: bytes = b"\xff\x00"
    at: Timestamp = START
    tags: frozenset[str] = frozenset({"a"})
    lines: list[Decimal] = field(default_factory=list)


KINDS = [
    (Colour, Colour.BLUE),
    (Mixed, Mixed.ONE),
    (list[Mixed], [Mixed.TWO]),
    (dt.timedelta, dt.timedelta(days=2, milliseconds=5)),
    (dt.timedelta | None, dt.timedelta(hours=1)),
    (dict[str, dt.timedelta], {"a": dt.timedelta(1)}),
    (bytes, b"\xff\x00"),
    (Decimal, Decimal("1.50")),
    (UUID, UUID(int=7)),
    (dt.datetime, dt.datetime(2026, 1, 31, tzinfo=dt.UTC)),
    (dt.date, dt.date(2026, 1, 31)),
    (Timestamp, Timestamp(5)),
    (Order, Order(1)),
    (list[Order], [Order(2)]),
    (set[int], {3}),
    (tuple[int, str], (1, "a")),
    (Path, Path("a/b")),
    (Literal["a", 1], 1),
    (dict[int, str], {1: "a"}),
]


@pytest.mark.parametrize(("kind", "value"), KINDS, ids=lambda one: str(one)[:40])
def test_the_recorded_form_of_a_value_fits_the_schema_and_so_does_its_default(kind, value):
    registry = Registry()

    async def run(ctx: Context, given=value):
        return given

    run.__annotations__.update({"given": kind, "return": kind})
    workflow = registry.add(run, name="run")
    schema = argument_schema(workflow)
    recorded = codec.to_data(value, kind)
    jsonschema_rs.validate(schema, {"given": recorded})
    jsonschema_rs.validate(result_schema(workflow), recorded)
    default = schema["properties"]["given"]["default"]
    assert default == recorded
    assert codec.from_data(default, kind) == value


async def test_a_duration_is_taken_in_the_form_of_the_schema_and_in_others(shop, http):
    (found,) = (await http.get("/v1/workflows/patient")).json()["items"]
    assert found["arguments"]["properties"]["patience"]["format"] == "duration"
    assert found["arguments"]["properties"]["patience"]["default"] == "PT172800S"
    for text, meant in (("P2D", 172_800), ("PT1H30M", 5400), ("P1W", 604_800), ("PT0.5S", 0.5)):
        body = {"workflow": "patient", "kwargs": {"patience": text}}
        eid = (await http.post("/v1/executions", json=body)).json()["eid"]
        await shop.work()
        assert (await http.get(f"/v1/executions/{eid}/result?wait_s=30")).json()["value"] == meant
    for text in ("P1M", "2 days", "P", 5):
        refused = await http.post("/v1/executions", json={"workflow": "patient", "kwargs": {"patience": text}})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_value")
