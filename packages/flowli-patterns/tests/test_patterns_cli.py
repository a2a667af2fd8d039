"""``flowli reviews`` and ``flowli decide``, and their pages."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import structlog
from click.testing import CliRunner

from flowli.cli import main
from flowli.cli.options import Common

DOCS = Path(__file__).parents[3] / "docs" / "reference"

APP = """
from dataclasses import dataclass
from decimal import Decimal

from flowli import Context, Registry
from flowli.patterns import review

registry = Registry()


@dataclass(frozen=True)
class Terms:
    amount: Decimal


@registry.workflow
async def plain(ctx: Context, what: str, approvals: int = 1) -> str:
    made = await review(ctx, f"buy {what}?", deciders=["bob", "eve", "group:finance"], approvals=approvals)
    return f"{made.verdict} by {', '.join(made.by)}: {made.comment}"


@registry.workflow
async def formal(ctx: Context) -> Decimal:
    made = await review(ctx, "which terms?", form=Terms, deadline=86_400)
    return made.form.amount if made.form else Decimal(0)
"""


class Console:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.errors = ""

    def __call__(self, *arguments: str, code: int = 0, who: str = "ada") -> str:
        environment = {
            "FLOWLI_STORAGE": f"file:{self.folder}/bucket?durability=os",
            "FLOWLI_APP": "desk_app:registry",
            "FLOWLI_ACTOR": who,
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        done = CliRunner().invoke(main.flowli, list(arguments), prog_name="flowli", env=environment)
        self.errors = done.stderr
        assert done.exit_code == code, done.output
        return done.stdout.strip()

    def open(self, *arguments: str) -> str:
        """Start an execution, run it up to its review, and give the id of that."""
        eid = self("start", *arguments)
        self("worker", "--until-idle", "--log-level", "error")
        return next(line["review"] for line in json.loads(self("reviews", "--json")) if line["eid"] == eid)

    def result(self, review: str) -> str:
        self("worker", "--until-idle", "--log-level", "error")
        return json.loads(self("status", review.partition(":")[0], "--json"))["value"]


@pytest.fixture
def flowli(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("FLOWLI"):
            monkeypatch.delenv(name)
    (tmp_path / "desk_app.py").write_text(APP)
    monkeypatch.syspath_prepend(tmp_path)
    yield Console(tmp_path)
    sys.modules.pop("desk_app", None)
    structlog.reset_defaults()


def test_a_review_is_listed_and_decided(flowli):
    review = flowli.open("plain", "--arg", "what=chairs")
    header, line = flowli("reviews").splitlines()
    assert header.split() == ["REVIEW", "SUBJECT", "STATUS", "AGE", "DEADLINE", "DETAIL"]
    assert line.startswith(f"{review}  buy chairs?  open ")
    assert line.endswith("bob, eve, group:finance")
    told = flowli("decide", review[:8], "approve", "--comment", "we sit a lot", who="bob")
    assert told == f"{review}  decided: approve"
    assert flowli.result(review) == "approve by bob: we sit a lot"
    assert flowli("reviews") == ""
    assert flowli.errors == "flowli: no review fits\n"
    assert flowli("reviews", "--status", "decided").splitlines()[1].endswith("approve by bob")


def test_status_and_explain_lead_to_the_review(flowli):
    review = flowli.open("plain", "--arg", "what=chairs")
    eid = review.partition(":")[0]
    assert f"flowli explain {eid}" in flowli("status", eid)
    assert f"flowli decide {review} VERDICT" in flowli("explain", eid)


def test_who_is_late_exits_with_1_and_is_told_the_decision(flowli):
    review = flowli.open("plain", "--arg", "what=chairs")
    flowli("decide", review, "reject", who="bob")
    flowli("decide", review, "approve", who="eve", code=1)
    assert re.search(r"was decided 'reject' by bob at \S+; that stands", flowli.errors)
    flowli("decide", review, "reject", who="bob")


def test_an_error_is_json_where_json_is_asked_for(flowli):
    review = flowli.open("plain", "--arg", "what=chairs")
    flowli("decide", review, "approve", "--json", code=1, who="mallory")
    assert json.loads(flowli.errors)["error"]["kind"] == "NotADecider"
    flowli("decide", review, "maybe", "--json", code=2, who="bob")
    assert json.loads(flowli.errors)["error"]["kind"] == "UnknownVerdict"
    flowli("decide", "0000", "approve", "--json", code=1)
    assert json.loads(flowli.errors)["error"]["kind"] == "UnknownReview"
    flowli("decide", f"{review}9", "approve", "--json", code=2)
    assert json.loads(flowli.errors)["error"]["kind"] == "UnknownReview"


def test_votes_groups_and_delegation(flowli):
    review = flowli.open("plain", "--arg", "what=chairs", "--arg", "approvals=2")
    assert flowli("decide", review, "approve", "--group", "finance", who="fay").endswith("approve: 1 of 2 votes")
    assert flowli("reviews", "--for", "fay", "--group", "finance") == ""
    assert flowli("decide", review, "--delegate", "dan", who="bob").endswith("handed to dan")
    flowli("decide", review, "approve", who="bob", code=1)
    flowli("decide", review, "approve", who="dan")
    assert flowli.result(review) == "approve by fay, dan: "


def test_a_form_is_filled_in(flowli):
    review = flowli.open("formal")
    flowli("decide", review, "approve", "--form", '{"amount": 4}', who="bob", code=2)
    assert "give a decimal" in flowli.errors
    flowli("decide", review, "approve", "--arg", "amount=4", "--form", "{}", who="bob", code=2)
    flowli("decide", review, who="bob", code=2)
    (line,) = json.loads(flowli("reviews", "--json"))
    assert line["form"] == [{"name": "amount", "kind": "decimal", "required": True, "nullable": False, "choices": []}]
    assert flowli("decide", review, "approve", "--arg", "amount=40", who="bob")
    assert flowli.result(review) == "40"


def rows(page: str, title: str) -> list[list[str]]:
    text = (DOCS / page).read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def commands() -> dict[str, click.Command]:
    return {name: main.flowli.get_command(click.Context(main.flowli), name) for name in ("decide", "reviews")}


def test_every_command_and_option_is_documented_and_every_documented_one_exists():
    table = rows("cli.md", "Commands of flowli-patterns")
    named = {(re.match(r"`(\w+)", row[0])[1], row[1].strip("`").split(" ")[0]) for row in table}
    documented = {(name, option) for name, option in named if name in commands()}
    real = set()
    for name, command in commands().items():
        real |= {(name, "")}
        own = [one for one in command.params if isinstance(one, click.Option) and not isinstance(one, Common)]
        real |= {(name, one.opts[0]) for one in own}
    assert documented == real


@pytest.mark.parametrize("name", sorted(commands()))
def test_help_fits_80_columns(name):
    done = CliRunner().invoke(main.flowli, [name, "--help"], prog_name="flowli", env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert [line for line in done.output.splitlines() if len(line) > 80] == []


def test_the_commands_stand_in_the_help():
    done = subprocess.run([sys.executable, "-m", "flowli.cli", "--help"], capture_output=True, text=True, check=True)
    assert "Decide a review, or hand it to another person" in done.stdout
