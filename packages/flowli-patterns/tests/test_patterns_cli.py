"""``flowli reviews``, ``flowli decide`` and ``flowli schedules``, and their pages."""

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
    (tmp_path / "bucket").mkdir()
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


NIGHTLY = ("schedules", "add", "nightly", "plain", "--cron", "0 2 * * *", "--zone", "Europe/Berlin")


def test_a_schedule_is_defined_listed_changed_and_removed(flowli):
    assert flowli("schedules", "list") == ""
    assert "`flowli schedules add` defines one" in flowli.errors
    made = flowli(*NIGHTLY, "--arg", "what=chairs", "--overlap", "queue", "--note", "for the books")
    assert made.splitlines()[:3] == [
        "nightly  plain  0 2 * * * (Europe/Berlin)  active",
        "  overlap queue, catch up last within 86400 s",
        "  for the books",
    ]
    header, line = flowli("schedules", "list").splitlines()
    assert header.split() == ["SCHEDULE", "WORKFLOW", "WHEN", "NEXT", "LAST"]
    assert re.fullmatch(r"nightly +plain +0 2 \* \* \* \(Europe/Berlin\)  \d{4}-\d\d-\d\dT0[01]:00:00\.0+Z  -", line)
    changed = json.loads(flowli("schedules", "update", "nightly", "--every", "300", "--catch-up", "all", "--json"))
    assert (changed["when"]["seconds"], changed["catch_up"], changed["overlap"]) == (300, "all", "queue")
    assert changed["kwargs"] == {"what": "chairs"}
    assert flowli("schedules", "pause", "nightly", "--reason", "moving").splitlines()[0].endswith("paused")
    assert flowli("schedules", "list").splitlines()[1].split()[-2:] == ["paused", "-"]
    assert "  next  " in flowli("schedules", "resume", "nightly")
    flowli("schedules", "rm", "nightly")
    assert flowli.errors == "flowli: schedule 'nightly' is removed\n"
    flowli("schedules", "show", "nightly", code=2)


def test_executions_of_a_schedule_are_started_by_hand_by_ticks_and_for_the_past(flowli):
    flowli(*NIGHTLY, "--arg", "what=chairs")
    assert flowli("schedules", "run", "nightly", "--key", "k") == flowli("schedules", "run", "nightly", "--key", "k")
    tick = flowli("schedules", "tick", "nightly", "--slot", "2026-03-28T02:00:00+01:00")
    past = ("schedules", "backfill", "nightly", "--from", "2026-03-28T00:00:00Z", "--to", "2026-03-29T12:00:00Z")
    assert flowli(*past, "--dry-run").splitlines() == [
        "2026-03-28T01:00:00.000000Z  would start",
        "2026-03-29T01:00:00.000000Z  would start",
    ]
    filled = json.loads(flowli(*past, "--json"))
    assert filled[0] == {"slot": "2026-03-28T01:00:00.000000Z", "eid": tick}


def test_schedules_that_make_no_sense_are_refused(flowli):
    flowli("schedules", "add", "x", "plain", code=2)
    assert "one of --cron, --every, --at and --ticks" in flowli.errors
    flowli("schedules", "add", "x", "plain", "--cron", "0 25 * * *", code=2)
    assert "malformed at character 3: '25' is no hour" in flowli.errors
    flowli("schedules", "add", "x", "plain", "--cron", "0 2 30 2 *", code=2)
    assert "never due" in flowli.errors
    flowli(*NIGHTLY[:-1], "Europe/Belrin", code=2)
    assert "did you mean 'Europe/Berlin'" in flowli.errors
    flowli("schedules", "add", "x", "plain", "--at", "2027-01-01T00:00:00", code=2)
    assert "has no zone" in flowli.errors
    flowli("schedules", "add", "x", "plian", "--every", "60", code=2)
    assert "did you mean 'plain'" in flowli.errors
    flowli(*NIGHTLY, "--arg", "what=chairs")
    flowli(*NIGHTLY, code=1)
    assert "already" in flowli.errors
    flowli("schedules", "tick", "nightly", code=2)
    flowli("schedules", "tick", "nightly", "--slot", "2026-03-28T02:00:00Z", code=2)
    assert "no slot of schedule 'nightly'" in flowli.errors
    flowli("schedules", "pause", "nihgtly", "--json", code=2)
    assert json.loads(flowli.errors)["error"]["kind"] == "UnknownSchedule"


def rows(page: str, title: str) -> list[list[str]]:
    text = (DOCS / page).read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def commands() -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in ("decide", "reviews", "schedules"):
        command = main.flowli.get_command(click.Context(main.flowli), name)
        below = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {sub}".strip(): one for sub, one in below.items()}
    return found


def test_every_command_and_option_is_documented_and_every_documented_one_exists():
    table = rows("cli.md", "Commands of flowli-patterns")
    documented = {(re.match(r"`([a-z]+(?: [a-z]+)*)", row[0])[1], row[1].strip("`").split(" ")[0]) for row in table}
    real = set()
    for name, command in commands().items():
        real |= {(name, "")}
        own = [one for one in command.params if isinstance(one, click.Option) and not isinstance(one, Common)]
        real |= {(name, one.opts[0]) for one in own}
    assert documented == real


@pytest.mark.parametrize("name", sorted(commands()))
def test_help_fits_80_columns(name):
    done = CliRunner().invoke(main.flowli, [*name.split(), "--help"], prog_name="flowli", env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert [line for line in done.output.splitlines() if len(line) > 80] == []


def test_the_commands_stand_in_the_help():
    done = subprocess.run([sys.executable, "-m", "flowli.cli", "--help"], capture_output=True, text=True, check=True)
    assert "Decide a review, or hand it to another person" in done.stdout
