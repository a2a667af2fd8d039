"""What the determinism guard refuses during a slice, and what it lets pass."""

from __future__ import annotations

import asyncio
import datetime
import gc
import importlib
import io
import logging
import os
import pathlib
import random
import secrets
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
import weakref
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from flowli.domain.entries import ExecutionCompleted, ExecutionFailed
from flowli.domain.errors import NotDeterministic
from flowli.runtime.context import Context
from flowli.runtime.guard import wrappers

from ..replay.live import calm, ending_of, error_of
from ..replay.programs import value
from . import helpers

NEWER = pytest.mark.skipif(sys.version_info < (3, 12), reason="the interpreter cannot watch calls before 3.12")


def in_a_workflow(call: Callable[[], Any]) -> Any:
    """How a workflow ends that makes one call."""

    async def calling(ctx: Context) -> None:
        await ctx.step(value, 1)
        call()

    return calling


@pytest.mark.parametrize(
    ("name", "call", "advice"),
    [
        ("time.time()", lambda: time.time(), "ctx.now"),
        ("time.time_ns()", lambda: time.time_ns(), "ctx.now"),
        ("time.monotonic()", lambda: time.monotonic(), "ctx.now"),
        ("time.perf_counter()", lambda: time.perf_counter(), "ctx.now"),
        ("time.localtime()", lambda: time.localtime(), "ctx.now"),
        ("time.strftime()", lambda: time.strftime("%Y"), "ctx.now"),
        ("time.sleep()", lambda: time.sleep(0), "ctx.sleep"),
        ("random.random()", lambda: random.random(), "ctx.random"),
        ("random.choice()", lambda: random.choice([1]), "ctx.random"),
        ("random.shuffle()", lambda: random.shuffle([1]), "ctx.random"),
        ("random.seed()", lambda: random.seed(1), "ctx.random"),
        ("random.Random()", lambda: random.Random(), "ctx.random"),
        ("random.SystemRandom()", lambda: random.SystemRandom().random(), "ctx.step"),
        ("uuid.uuid4()", lambda: uuid.uuid4(), "ctx.uuid"),
        ("uuid.uuid1()", lambda: uuid.uuid1(), "ctx.uuid"),
        ("os.urandom()", lambda: os.urandom(4), "ctx.step"),
        ("secrets.token_hex()", lambda: secrets.token_hex(), "ctx.step"),
        ("asyncio.all_tasks()", lambda: asyncio.all_tasks(), "your own list"),
        ("threading.Thread.start()", lambda: threading.Thread(target=print).start(), "asyncio.create_task"),
        (f"open('{__file__}')", lambda: open(__file__).close(), "ctx.step"),
        (f"open('{__file__}')", lambda: pathlib.Path(__file__).read_text(), "ctx.step"),
        ("socket.socket()", lambda: socket.socket(), "ctx.step"),
        ("socket.getaddrinfo()", lambda: socket.getaddrinfo("localhost", 1), "ctx.step"),
        ("subprocess.Popen(", lambda: subprocess.run(["true"]), "ctx.step"),
        ("os.system()", lambda: os.system("true"), "ctx.step"),
        ("os.listdir()", lambda: os.listdir("/"), "ctx.step"),
        ("os.remove()", lambda: os.remove("/nothing/here"), "ctx.step"),
        ("shutil.rmtree()", lambda: shutil.rmtree("/nothing/here"), "ctx.step"),
        ("sqlite3.connect()", lambda: sqlite3.connect(":memory:"), "ctx.step"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_call_is_refused_by_name_with_what_to_use_instead(name: str, call: Callable[[], Any], advice: str) -> None:
    """RPL-10."""
    error = error_of(in_a_workflow(call))
    assert error.type == "flowli.domain.errors.NotDeterministic"
    assert error.message.startswith(name)
    assert advice in error.message
    assert "test_guard.py" in error.traceback


@NEWER
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("time.time()", helpers.clock),
        ("time.monotonic()", helpers.seconds),
        ("datetime.datetime.now()", helpers.moment),
        ("datetime.date.today()", helpers.day),
        ("random.randint()", helpers.dice),
        ("uuid.uuid4()", helpers.fresh_id),
        ("time.time()", helpers.later),
        ("datetime.datetime.now()", helpers.Dealer().when),
        ("datetime.datetime.now()", lambda: datetime.datetime.now(datetime.UTC)),
        ("datetime.datetime.utcnow()", lambda: datetime.datetime.utcnow()),
    ],
)
def test_calls_of_what_was_imported_by_name_and_of_the_clock_of_datetime_are_seen(
    name: str, call: Callable[[], Any]
) -> None:
    """RPL-10."""
    error = error_of(in_a_workflow(call))
    assert error.type == "flowli.domain.errors.NotDeterministic"
    assert error.message.startswith(name)


def test_a_call_in_a_library_is_the_workflows() -> None:
    assert error_of(in_a_workflow(helpers.Dealer().deal)).message.startswith("random.random()")
    assert error_of(in_a_workflow(lambda: tempfile.mkdtemp())).type == "flowli.domain.errors.NotDeterministic"


class _Finalized:
    def __init__(self, path: str) -> None:
        self.cycle = self
        self.path = path

    def __del__(self) -> None:
        with open(self.path, "w") as file:
            file.write("finalized")


def _format() -> str:
    try:
        raise ValueError("shown")
    except ValueError as error:
        text = io.StringIO()
        logging.StreamHandler(text).handle(
            logging.LogRecord("x", logging.INFO, __file__, 1, "message", (), (type(error), error, error.__traceback__))
        )
        return text.getvalue()


@pytest.mark.parametrize(
    "call",
    [
        lambda: random.Random(7).random(),
        lambda: uuid.uuid5(uuid.NAMESPACE_DNS, "x"),
        lambda: time.gmtime(0),
        lambda: time.strftime("%Y", time.gmtime(0)),
        lambda: datetime.datetime.fromtimestamp(0, datetime.UTC),
        lambda: zoneinfo.ZoneInfo.no_cache("Europe/Paris"),
        lambda: importlib.reload(importlib.import_module("colorsys")),
        lambda: logging.getLogger("guarded").warning("said"),
        lambda: structlog.get_logger("guarded").info("said"),
        lambda: warnings.warn("said", UserWarning, stacklevel=1),
        _format,
        lambda: print("said"),
    ],
    ids=[
        "random",
        "uuid5",
        "gmtime",
        "strftime",
        "datetime",
        "zone",
        "import",
        "log",
        "structlog",
        "warn",
        "trace",
        "print",
    ],
)
@pytest.mark.filterwarnings("ignore:said")
def test_what_a_replay_can_repeat_or_nobody_observes_is_let_pass(call: Callable[[], Any]) -> None:
    assert ending_of(in_a_workflow(call)) == ExecutionCompleted(None)


def test_finalizers_that_happen_to_run_in_a_slice_are_let_be(tmp_path: pathlib.Path) -> None:
    made = [str(tmp_path / "one"), tempfile.mkdtemp(dir=tmp_path)]
    watched = _Finalized(made[0])
    folder = tempfile.TemporaryDirectory(dir=tmp_path)
    weakref.finalize(watched, os.rmdir, made[1])
    name = folder.name

    def collect() -> None:
        nonlocal watched, folder
        del watched, folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    assert ending_of(in_a_workflow(collect)) == ExecutionCompleted(None)
    assert pathlib.Path(made[0]).read_text() == "finalized"
    assert not pathlib.Path(made[1]).exists()
    assert not pathlib.Path(name).exists()


def test_outside_slices_and_in_other_threads_nothing_is_refused() -> None:
    """RPL-11."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def busy() -> None:
        while not stop.is_set():
            try:
                helpers.clock()
                time.time()
                random.random()
                uuid.uuid4()
                os.listdir("/")
            except BaseException as error:
                failures.append(error)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(50):
            ending_of(in_a_workflow(lambda: sum(range(1000))))
    finally:
        stop.set()
        thread.join()
    assert failures == []
    assert time.time() > 0
    assert 0 <= random.random() < 1


def test_steps_may_use_everything() -> None:
    """RPL-11."""

    async def stepping(ctx: Context) -> int:
        return await ctx.step(uses_everything)

    def uses_everything() -> int:
        helpers.moment()
        return int(time.time() > 0) + len(os.listdir("/")[:1]) + (random.random() < 2) + (helpers.dice() > 0)

    live = calm(stepping)
    live.run()
    assert live.session.ending == ExecutionCompleted(4)


def test_the_guard_stands_while_a_coroutine_is_dropped() -> None:
    said: list[str] = []

    async def waiting(ctx: Context) -> None:
        try:
            await ctx.receive("silent")
        finally:
            try:
                time.time()
            except NotDeterministic:
                said.append("refused")

    live = calm(waiting)
    live.session.loop.drop()
    assert said == ["refused"]


def test_code_can_catch_the_error_and_go_on() -> None:
    async def careful(ctx: Context) -> str:
        try:
            time.time()
        except NotDeterministic:
            return "caught"
        return "let pass"

    assert ending_of(careful) == ExecutionCompleted("caught")


def test_functions_keep_their_names_and_can_be_put_back() -> None:
    assert ending_of(in_a_workflow(lambda: 1)) == ExecutionCompleted(None)
    assert time.time.__name__ == "time"
    assert time.sleep.__module__ == "time"
    guarded = time.time
    wrappers.install()
    assert time.time is guarded
    wrappers.uninstall()
    try:
        assert time.time is not guarded
        assert not hasattr(time.time, "__wrapped__")
        assert not hasattr(random.Random.seed, "__wrapped__")
    finally:
        wrappers.install()
    assert isinstance(ending_of(in_a_workflow(lambda: time.time())), ExecutionFailed)
