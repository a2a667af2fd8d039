"""Attempt logs: what a step printed and logged, within limits, written once."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.adapters.memory import MemoryBackend
from flowli.evidence import AttemptLog, read_logs, recording
from flowli.log import keeping_context
from flowli.testing.suites.port_suite import new_eid


def text(log: AttemptLog) -> str:
    return log.body().decode()


def test_prints_and_log_records_are_collected(capsys: pytest.CaptureFixture[str]) -> None:
    log = AttemptLog()
    with recording():
        print("before")
        with log.collecting():
            print("charging", end=" ")
            print("card")
            sys.stderr.write("warning\n")
            logging.getLogger("lib").warning("slow %d", 3)
        print("after")
    assert text(log) == "charging card\nwarning\nWARNING slow 3\n"
    assert capsys.readouterr().out == "before\ncharging card\nafter\n", "it still appears where it did"


def test_events_of_structlog_are_collected_through_the_standard_library() -> None:
    log = AttemptLog()
    renderer = structlog.stdlib.ProcessorFormatter.wrap_for_formatter
    with recording(), log.collecting():
        logger = structlog.wrap_logger(logging.getLogger("app"), processors=[structlog.stdlib.add_log_level, renderer])
        try:
            raise ValueError("boom")
        except ValueError:
            logger.error("failed", amount=3, exc_info=True)
    lines = text(log).splitlines()
    assert lines[0] == "ERROR failed amount=3"
    assert lines[-1] == "ValueError: boom"


async def test_steps_that_run_at_once_do_not_mix() -> None:
    logs = [AttemptLog() for _ in range(5)]

    async def step(n: int) -> None:
        with logs[n].collecting():
            for _ in range(3):
                print(f"step {n}")
                await asyncio.sleep(0)

    with recording():
        await asyncio.gather(*(step(n) for n in range(5)))
    assert [text(log) for log in logs] == [f"step {n}\n" * 3 for n in range(5)]


def test_a_thread_of_the_step_is_collected_too() -> None:
    log = AttemptLog()
    with recording(), log.collecting():
        thread = threading.Thread(target=keeping_context(print), args=["inside"])
        thread.start()
        thread.join()
    assert text(log) == "inside\n"


def test_a_line_without_an_end_is_kept() -> None:
    log = AttemptLog()
    with recording(), log.collecting():
        print("no end", end="")
    assert text(log) == "no end\n"


def test_streams_are_given_back() -> None:
    out, err, handlers = sys.stdout, sys.stderr, logging.getLogger().handlers[:]
    with recording():
        assert sys.stdout is not out
    assert (sys.stdout, sys.stderr, logging.getLogger().handlers) == (out, err, handlers)


def test_too_many_lines_keep_their_beginning_and_their_end() -> None:
    log = AttemptLog(max_bytes=1000)
    for n in range(1000):
        log.add(f"line {n}")
    lines = text(log).splitlines()
    assert lines[0] == "line 0"
    assert lines[-1] == "line 999"
    (gap,) = [line for line in lines if line.startswith("...")]
    assert int(gap.split()[1]) == 1000 - (len(lines) - 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=60), st.integers(100, 2000))
def test_a_log_stays_within_its_limit(lines: list[str], limit: int) -> None:
    log = AttemptLog(max_bytes=limit, max_line_bytes=80)
    for line in lines:
        log.add(line.replace("\n", " "))
    assert len(log.body()) <= limit + len("... 9999 lines left out ...\n")
    assert log.body().decode()[:0] == ""


async def test_a_log_is_written_once_under_its_attempt_and_epoch() -> None:
    """STP-13."""
    evidence, eid, log = MemoryBackend().ports.evidence, new_eid(), AttemptLog()
    assert not await log.write(evidence, eid, "root/charge#1", attempt=1, epoch=3), "there is nothing to write"
    log.add("charged")
    assert await log.write(evidence, eid, "root/charge#1", attempt=1, epoch=3)
    assert not await log.write(evidence, eid, "root/charge#1", attempt=1, epoch=3)
    assert await log.write(evidence, eid, "root/charge#1", attempt=1, epoch=4)
    assert list(await evidence.list(eid)) == ["root~charge=1.1.3/log", "root~charge=1.1.4/log"]
    assert await evidence.get(eid, "root~charge=1.1.3/log") == b"charged\n"


def test_two_workers_of_one_process_collect_each_line_once() -> None:
    log = AttemptLog()
    with recording(), recording(), log.collecting():
        print("printed")
        logging.getLogger("lib").warning("logged")
    assert text(log) == "printed\nWARNING logged\n"


def test_the_logging_of_the_application_stays_as_it_is() -> None:
    root, factory = logging.getLogger(), logging.getLogRecordFactory()
    handlers = list(root.handlers)
    with recording():
        assert root.handlers == handlers, "basicConfig, and warnings without any set-up, go on to work"
    assert logging.getLogRecordFactory() is factory


def test_a_handler_that_writes_where_prints_are_collected_doubles_no_line() -> None:
    log, root = AttemptLog(), logging.getLogger()
    with recording():
        handler = logging.StreamHandler()
        root.addHandler(handler)
        try:
            with log.collecting():
                logging.getLogger("lib").warning("logged")
        finally:
            root.removeHandler(handler)
    assert text(log) == "logged\n"


def test_a_record_whose_arguments_do_not_fit_is_kept_as_it_is() -> None:
    log = AttemptLog()
    with recording(), log.collecting():
        logging.getLogger("lib").makeRecord("lib", logging.WARNING, "f", 1, "%d of them", ("many",), None)
    assert text(log).startswith("WARNING %d of them (")


async def test_kept_logs_are_read_by_frame_attempt_and_run() -> None:
    evidence, eid = MemoryBackend().ports.evidence, new_eid()
    for fid, attempt, run in (("root/a#1", 10, 1), ("root/a#1", 2, 1), ("root/a#1", 2, 2), ("root/b:k", 1, 1)):
        log = AttemptLog()
        log.add(f"{fid} {attempt} {run}")
        assert await log.write(evidence, eid, fid, attempt=attempt, epoch=3, run=run)
    await evidence.put(eid, "root~a=1.2.3/outcome", b"{}")
    kept = await read_logs(evidence, eid)
    assert [(one.fid, one.attempt, one.run) for one in kept] == [
        ("root/a#1", 2, 1),
        ("root/a#1", 2, 2),
        ("root/a#1", 10, 1),
        ("root/b:k", 1, 1),
    ]
    assert all(one.text == f"{one.fid} {one.attempt} {one.run}\n" for one in kept)
    assert await read_logs(evidence, eid, "root/b:k") == kept[3:]
