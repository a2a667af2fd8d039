"""Logging in one form: plain when piped, JSON on request, bound to execution, frame and attempt in threads too."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import structlog

from flowli.log import bound, configure, keeping_context
from flowli.testing.clock import ManualWorld

EID = UUID(int=7)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def set_up(out: io.StringIO, **options: Any) -> None:
    configure(stream=out, world=ManualWorld(), **options)


def test_piped_output_is_plain_text(out: io.StringIO) -> None:
    set_up(out)
    structlog.get_logger("app").info("charged", amount=3)
    (line,) = out.getvalue().splitlines()
    assert line.startswith("2026-01-01T00:00:00.000000Z [info     ] charged")
    assert "amount=3" in line
    assert "\x1b" not in line


def test_a_terminal_gets_colours_unless_it_asks_for_none(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    set_up(out)
    structlog.get_logger("app").info("charged")
    assert "\x1b[" in out.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    set_up(out)
    before = len(out.getvalue())
    structlog.get_logger("app").info("charged")
    assert "\x1b[" not in out.getvalue()[before:]


def test_json_lines_carry_everything(out: io.StringIO) -> None:
    set_up(out, json=True)
    with bound(EID, "root/charge#1", 2):
        structlog.get_logger("app").warning("slow", seconds=1.5, who=EID)
        logging.getLogger("lib").warning("old %s", "style")
    first, second = map(json.loads, out.getvalue().splitlines())
    at = {"eid": str(EID), "fid": "root/charge#1", "attempt": 2, "timestamp": "2026-01-01T00:00:00.000000Z"}
    assert first == {**at, "event": "slow", "seconds": 1.5, "who": str(EID), "level": "warning", "logger": "app"}
    assert second == {**at, "event": "old style", "level": "warning", "logger": "lib"}


def test_bindings_hold_in_threads_and_end_with_their_block(out: io.StringIO) -> None:
    set_up(out, json=True)
    log = structlog.get_logger("app")
    with bound(EID, "root/charge#1", 1):
        thread = threading.Thread(target=keeping_context(log.info), args=["inside"])
        thread.start()
        thread.join()
    log.info("outside")
    inside, outside = map(json.loads, out.getvalue().splitlines())
    assert (inside["eid"], inside["fid"], inside["attempt"]) == (str(EID), "root/charge#1", 1)
    assert "eid" not in outside


def test_levels(out: io.StringIO) -> None:
    set_up(out, level="warning")
    structlog.get_logger("app").info("quiet")
    logging.getLogger("lib").info("quiet")
    structlog.get_logger("app").error("loud")
    assert "quiet" not in out.getvalue()
    assert "loud" in out.getvalue()
    with pytest.raises(ValueError, match="no log level 'chatty'; use one of debug, info"):
        set_up(out, level="chatty")


def test_configuring_again_replaces(out: io.StringIO) -> None:
    set_up(out)
    set_up(out)
    logging.getLogger("lib").warning("once")
    assert out.getvalue().count("once") == 1


def test_exceptions_are_shown(out: io.StringIO) -> None:
    set_up(out, json=True)
    try:
        raise ValueError("boom")
    except ValueError:
        structlog.get_logger("app").exception("failed")
    line = json.loads(out.getvalue())
    assert "ValueError: boom" in line["exception"]
