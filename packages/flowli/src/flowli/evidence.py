"""Attempt logs: what a step printed and logged during one attempt, kept as evidence beside its execution.

    >>> with recording():                                  # once per worker
    ...     log = AttemptLog()
    ...     with log.collecting():                         # around one attempt
    ...         print("charging card")
    ...     await log.write(ports.evidence, eid, "root/charge#1", attempt=1, epoch=3)

An attempt log is written once, after its attempt, under ``{frame}.{attempt}.{epoch}/log``; two owners that run the same
attempt never write one name.
"""

from __future__ import annotations

import contextvars
import logging
import re
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast

from flowli.domain.errors import InvalidName
from flowli.domain.ids import Eid, Fid
from flowli.domain.ports.evidence import Evidence

__all__ = ["AttemptLog", "KeptLog", "evidence_name", "frame_part", "read_logs", "recording"]

_SIGNS = {"/": "~", "#": "="}
_FRAME = re.compile(r"[A-Za-z0-9_/#:-]+", re.ASCII)
_LOG = re.compile(r"(?P<frame>[A-Za-z0-9_~=:-]+)\.(?P<attempt>\d+)\.(?P<epoch>\d+)/log(-(?P<run>\d+))?", re.ASCII)
_WHAT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}", re.ASCII)


def frame_part(fid: Fid) -> str:
    """How a frame is named in evidence: ``root/charge#1`` is ``root~charge=1``. No two frames share a name.

    Raises:
        InvalidName: ``fid`` is no frame id.
    """
    if not _FRAME.fullmatch(fid):
        raise InvalidName(f"{fid!r} is not a frame id; it has the form root/charge#1 or root/charge:INV-7")
    return "".join(_SIGNS.get(char, char) for char in fid)


def evidence_name(fid: Fid, attempt: int, epoch: int, what: str) -> str:
    """The name of a body: ``{frame}.{attempt}.{epoch}/{what}``.

    Raises:
        InvalidName: ``what`` is not made of ASCII letters, digits, ``_``, ``-`` and dots that do not stand first.
    """
    if not _WHAT.fullmatch(what):
        raise InvalidName(f"{what!r} cannot name evidence: use 1 to 128 ASCII letters, digits or '._-', no dot first")
    return f"{frame_part(fid)}.{attempt}.{epoch}/{what}"


class AttemptLog:
    """Lines of one attempt: the first and the last of them, when there are too many.

    Safe to fill from several threads.

    Args:
        max_bytes: how much is kept; half for the beginning, half for the end.
        max_line_bytes: longer lines are cut.
    """

    def __init__(self, max_bytes: int = 65_536, max_line_bytes: int = 4_096) -> None:
        self._half = max_bytes // 2
        self._max_line = min(max_line_bytes, self._half)
        self._lock = threading.Lock()
        self._first: list[bytes] = []
        self._last: deque[bytes] = deque()
        self._first_bytes = self._last_bytes = self._dropped = 0
        self._begun = ""

    def add(self, line: str) -> None:
        """Keep a line, without its line end."""
        data = line.encode("utf-8", "backslashreplace")
        if len(data) >= self._max_line:
            data = data[: self._max_line - 4].decode("utf-8", "ignore").encode() + b"..."
        size = len(data) + 1
        with self._lock:
            if not self._last and self._first_bytes + size <= self._half:
                self._first.append(data)
                self._first_bytes += size
                return
            self._last.append(data)
            self._last_bytes += size
            while self._last_bytes > self._half:
                self._last_bytes -= len(self._last.popleft()) + 1
                self._dropped += 1

    def write_text(self, text: str) -> None:
        """Keep text as it is printed; a line that is not ended yet waits for its rest."""
        with self._lock:
            *lines, self._begun = (self._begun + text).split("\n")
            if len(self._begun) > self._max_line:
                lines.append(self._begun)
                self._begun = ""
        for line in lines:
            self.add(line)

    def body(self) -> bytes:
        """The text, UTF-8, with a line that tells how many lines are missing; empty if there was none."""
        if self._begun:
            self.write_text("\n")
        with self._lock:
            gap = [f"... {self._dropped} lines left out ...".encode()] if self._dropped else []
            return b"".join(line + b"\n" for line in (*self._first, *gap, *self._last))

    @property
    def empty(self) -> bool:
        """Whether nothing was said."""
        return not (self._first or self._last or self._begun)

    def collect_in(self, context: contextvars.Context) -> None:
        """Collect what is printed and logged by whatever runs in ``context``."""
        context.run(_current.set, self)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect what is printed and logged inside, by this task and by whatever runs in a copy of its context."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)

    async def write(self, evidence: Evidence, eid: Eid, fid: Fid, *, attempt: int, epoch: int, run: int = 1) -> bool:
        """Write the log, unless it is empty; False if there was nothing to write or it is there already.

        Args:
            run: counts the runs of an attempt that asked to be run again later (``Defer``): ``log``, ``log-2``, ...
        """
        body, what = self.body(), "log" if run == 1 else f"log-{run}"
        return bool(body) and await evidence.put(eid, evidence_name(fid, attempt, epoch, what), body)


@dataclass(frozen=True, slots=True)
class KeptLog:
    """An attempt log as it was written.

    Attributes:
        epoch: of the owner that ran the attempt.
        run: counts the runs of an attempt that was deferred, from 1.
    """

    fid: Fid
    attempt: int
    epoch: int
    run: int
    text: str


async def read_logs(evidence: Evidence, eid: Eid, fid: Fid | None = None) -> list[KeptLog]:
    """The attempt logs of an execution, or of one of its frames, by frame, attempt, epoch and run.

    Raises:
        InvalidName: ``fid`` is no frame id.
    """
    names = await evidence.list(eid, prefix="" if fid is None else f"{frame_part(fid)}.")
    found = [(match, name) for name in names if (match := _LOG.fullmatch(name))]
    logs = [
        KeptLog(
            match["frame"].replace("~", "/").replace("=", "#"),
            int(match["attempt"]),
            int(match["epoch"]),
            int(match["run"] or 1),
            (await evidence.get(eid, name) or b"").decode("utf-8", "replace"),
        )
        for match, name in found
    ]
    return sorted(logs, key=lambda log: (log.fid, log.attempt, log.epoch, log.run))


_current: contextvars.ContextVar[AttemptLog | None] = contextvars.ContextVar("flowli_attempt_log", default=None)
_lock = threading.Lock()
_open: list[bool] = []


@contextmanager
def recording(*, prints: bool = True) -> Iterator[None]:
    """While this is open, prints and log records reach the attempt log of the context they come from.

    It may be open several times in one process, each line is collected once. No handler is added: how the application
    has set up its logging, or sets it up later, stays as it is.

    Args:
        prints: standard output and error too; they still appear where they did.
    """
    with _lock:
        _open.append(prints)
        if not isinstance(logging.getLogRecordFactory(), _Collecting):
            logging.setLogRecordFactory(_Collecting(logging.getLogRecordFactory()))
        if prints:
            sys.stdout, sys.stderr = _teed(sys.stdout), _teed(sys.stderr)
    try:
        yield
    finally:
        with _lock:
            _open.remove(prints)
            factory = logging.getLogRecordFactory()
            if not _open and isinstance(factory, _Collecting):
                logging.setLogRecordFactory(factory.inner)
            if not any(_open):
                sys.stdout = getattr(sys.stdout, "untapped", sys.stdout)
                sys.stderr = getattr(sys.stderr, "untapped", sys.stderr)


def _teed(stream: IO[str]) -> IO[str]:
    # a process without a console has no stream
    return stream if stream is None or isinstance(stream, _Tee) else cast("IO[str]", _Tee(stream))


_KNOWN = frozenset({"eid", "fid", "attempt", "epoch", "level", "logger", "timestamp", "exc_info"})


class _Collecting:
    """Makes log records as ``inner`` does, and hands those of an attempt to its log."""

    def __init__(self, inner: Callable[..., logging.LogRecord]) -> None:
        self.inner = inner

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record, log = self.inner(*args, **kwargs), _current.get()
        if log is not None and _open and record.name and not _comes_by_a_stream(record):
            try:
                for line in _record_text(record).splitlines():
                    log.add(line)
            except Exception as error:  # arguments that do not fit: the application's own handler tells of it
                log.add(f"{record.levelname} {record.msg} ({error})")
        return record


def _comes_by_a_stream(record: logging.LogRecord) -> bool:
    """Whether a handler writes the record where prints are collected, so that it comes by itself."""
    handlers = logging.getLogger().handlers
    if not handlers and not logging.getLogger(record.name).hasHandlers():
        return logging.lastResort is not None and record.levelno >= logging.lastResort.level and any(_open)
    return any(isinstance(getattr(handler, "stream", None), _Tee) for handler in handlers)


def _record_text(record: logging.LogRecord) -> str:
    if not isinstance(record.msg, dict):
        return f"{record.levelname} {logging.Formatter().format(record)}"
    # an event of structlog on its way to the formatter
    event = {key: value for key, value in record.msg.items() if not key.startswith("_") and key not in _KNOWN}
    exception = _exception_text(record.msg.get("exc_info"))
    said = [record.levelname, str(event.pop("event", "")), *(f"{key}={value!r}" for key, value in event.items())]
    return " ".join(said) + exception


def _exception_text(exc_info: object) -> str:
    if isinstance(exc_info, BaseException):
        return "\n" + "".join(traceback.format_exception(exc_info))
    if isinstance(exc_info, tuple) and isinstance(exc_info[1], BaseException):
        return _exception_text(exc_info[1])
    return _exception_text(sys.exc_info()[1]) if exc_info else ""


class _Tee:
    """A stream that also hands what is written to the attempt log of whoever writes."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    @property
    def untapped(self) -> IO[str]:
        """The stream behind it."""
        return self._stream

    def write(self, text: str) -> int:
        log = _current.get()
        if log is not None:
            log.write_text(text)
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
