"""Runs a small workload in processes that are struck, on one folder; a process of its own, so that it may fork.

``python chaos_driver.py FOLDER CASE...`` prints one line of JSON a case: what was wrong with it, and what was left.
A case is ``{strike}@{operation}:{victim}``: the victim (``worker`` or ``client``) is struck at its n-th storage
operation. Each process is a fork of this one, which has no threads and no loop.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import structlog

from flowli import CairnBackend, Context, Engine, EngineConfig, Registry, Site, step_info
from flowli.cli.check.examine import examine
from flowli.domain.errors import BackendError
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.runtime.control_fold import ControlFold
from flowli.stores.filesystem import FilesystemStore
from flowli.world import SYSTEM

TTL_S, STRUCK_S, PATIENCE_S = 0.6, 0.8, 15.0
BUSY_S = 60.0
"""Seconds of the processor that no process needs: one that has used them polls for what never comes."""
STILL_S = 180.0
"""A process that uses no processor for so long waits for what never comes."""
VALUE = ["one", "tea", "two", "kid"]
registry = Registry()


async def note(what: str) -> str:
    """Writes a line to the ledger before anything else."""
    info = step_info()
    _write(f"{info.fid} {what} {info.epoch}\n")
    return what


def _write(line: str) -> None:
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(line)


@registry.workflow
async def child(ctx: Context) -> str:
    """One step."""
    return await ctx.step(note, "kid")


@registry.workflow
async def main(ctx: Context) -> list[str]:
    """Steps, a message and a child."""
    got = [await ctx.step(note, "one"), str(await ctx.receive("orders"))]
    got.append(await ctx.step(note, "two"))
    return [*got, await ctx.child(child)]


class Striking:
    """A store that counts its operations, and strikes its process at one of them."""

    def __init__(self, store: Any, strike: str, at: int) -> None:
        self._store = store
        self._strike = strike
        self._at = at
        self.operations = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return found if name not in ("get", "put", "delete", "delete_many", "list") else self._counted(found)

    def fork(self) -> Striking:
        return self

    def _counted(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*args: Any, **options: Any) -> Any:
            self.operations += 1
            struck = self.operations == self._at
            if struck:
                strike(self._strike, before=True)
            result = await call(*args, **options)
            if struck:
                strike(self._strike, before=False)
            return result

        return counted


def strike(what: str, *, before: bool) -> None:
    if what == ("kill-before" if before else "kill-after"):
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "stop" and not before:
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "full" and before:
        _for_a_while(lambda: _limit(16), lambda: _limit(resource.RLIM_INFINITY))
    elif what == "read-only" and before:
        _for_a_while(_refuse_writing, _allow_writing)


def _limit(size: int) -> None:
    """What is written beyond it is refused, as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size if size != resource.RLIM_INFINITY else hard, hard))


_open = os.open


def _refuse_writing() -> None:
    def refuse(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return _open(path, flags, *rest, **options)

    os.open = refuse


def _allow_writing() -> None:
    os.open = _open


def _for_a_while(begin: Callable[[], None], end: Callable[[], None]) -> None:
    begin()
    asyncio.get_running_loop().call_later(STRUCK_S, end)


def backend(folder: Path, striking: str = "", at: int = 0) -> CairnBackend:
    store = FilesystemStore.from_url(f"file:{folder}/bucket?durability=os")
    return CairnBackend(Striking(store, striking, at))  # type: ignore[arg-type]


def engine(opened: CairnBackend, name: str) -> Engine:
    config = EngineConfig(exec_ttl_s=TTL_S, task_ttl_s=TTL_S, hold_s=0.05, grace_s=0.5, audit_period_s=2.0)
    return Engine(opened.ports, Site.local(name), registry=registry, config=config)


async def again(call: Callable[[], Awaitable[Any]]) -> Any:
    """Until the storage answers: what is asked for has a key."""
    while True:
        try:
            return await call()
        except BackendError:
            await asyncio.sleep(0.05)


async def ask(opened: CairnBackend) -> None:
    asking = engine(opened, "client")
    eid = await again(lambda: asking.start("main", key="k1"))
    await again(lambda: asking.signal(eid, "orders", "tea", key="m1"))
    await asking.announcer.drain()


async def work(opened: CairnBackend) -> None:
    """Work and sweep until the execution has ended and its queue is empty."""
    working = engine(opened, f"worker-{os.getpid()}")
    worker = working.worker(sweeper=True)
    running = asyncio.ensure_future(worker.run())
    ending = asyncio.ensure_future(_ended(opened))
    await asyncio.wait((running, ending), return_when=asyncio.FIRST_COMPLETED)
    worker.stop()
    await running
    ending.cancel()


async def _ended(opened: CairnBackend) -> None:
    """Until it has ended, the control log says so of it and of its child, and no task is left."""
    while True:
        try:
            known = ControlFold()
            await known.catch_up(opened.ports.control)
            told = [one.workflow and one.status.terminal for one in known.executions.values()]
            if len(told) == 2 and all(told) and not await opened.ports.queue.list("default", limit=1):
                return
        except BackendError:
            pass
        await asyncio.sleep(0.03)


async def _eid(opened: CairnBackend) -> Eid | None:
    claim = await opened.ports.dispatch.read_start("k1")
    return None if claim is None else claim.eid


class Late(Exception):
    """A process takes longer than expected."""


class Died(Exception):
    """A process ended in another way than it should."""


def process(folder: Path, role: Callable[[CairnBackend], Awaitable[None]], striking: str = "", at: int = 0) -> int:
    """Fork a process; returns its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.environ["LEDGER"] = str(folder / "ledger")
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        opened = backend(folder, striking, at)
        asyncio.run(role(opened))  # type: ignore[arg-type]
        counted = folder / f"operations-{role.__name__}"
        if not counted.exists():
            counted.write_text(str(opened.store.operations))  # type: ignore[attr-defined]
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait(pid: int, *, stopped: bool = False, limit_s: float = 0.0) -> int:
    """Until it has ended (or stopped); its status.

    How long it takes says nothing, since the machine may be busy: whether it hangs is told by what it uses.

    Raises:
        Late: it has not within ``limit_s``, and runs on.
        Died: it hangs; it is killed.
    """
    began_s = moved_s = time.monotonic()
    used_s = 0.0
    while True:
        found, status = os.waitpid(pid, os.WNOHANG | (os.WUNTRACED if stopped else 0))
        if found:
            return status
        now_s, before_s, used_s = time.monotonic(), used_s, _used_s(pid)
        moved_s = now_s if used_s > before_s else moved_s
        if limit_s and now_s - began_s >= limit_s:
            raise Late
        if used_s > BUSY_S or now_s - moved_s > STILL_S:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise Died(f"process {pid} hangs: {used_s:.0f} s of the processor in {now_s - began_s:.0f} s")
        time.sleep(0.005)


def _used_s(pid: int) -> float:
    """Seconds of the processor that a child has used so far."""
    numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def run(folder: Path, striking: str, at: int, victim: str) -> list[str]:
    """One case; returns what is wrong."""
    roles = {"client": ask, "worker": work}
    order = ["client", "worker"]
    for name in order:
        struck = name == victim
        pid = process(folder, roles[name], striking if struck else "", at)
        status = wait(pid, stopped=True)
        if os.WIFSTOPPED(status):
            problems = _taken_over(folder, pid, roles[name])
            if problems:
                return problems
        elif status != 0:
            if struck and (os.WIFSIGNALED(status) or striking in ("full", "read-only")):
                status = wait(process(folder, roles[name]))
            if status != 0:
                return [f"L2: a {name} that was not struck failed: {(folder / 'log').read_text()[-400:]}"]
    # a write that was tried again may have landed after all had ended: a worker without trouble clears it away
    if wait(process(folder, work)) != 0:
        return [f"L2: the last worker failed: {(folder / 'log').read_text()[-400:]}"]
    return judge(folder)


def _taken_over(folder: Path, first: int, role: Callable[[CairnBackend], Awaitable[None]]) -> list[str]:
    """Another process goes on, well past the lease; the first one then writes nothing more.

    A process that stands still with the lock of some key in its hands keeps that key from all others: then the second
    one must end when the first one goes on.
    """
    second = process(folder, role)
    try:
        status = wait(second, limit_s=PATIENCE_S)
    except Late:
        os.kill(first, signal.SIGCONT)
        return [] if wait(second) == wait(first) == 0 else ["L2: one of two workers failed"]
    before = _journals(folder)
    os.kill(first, signal.SIGCONT)
    wait(first)
    changed = role is work and _journals(folder) != before
    problems = [] if status == 0 else [f"L2: the second process failed: {(folder / 'log').read_text()[-400:]}"]
    return problems + (["S10: a process that had stood still went on writing"] if changed else [])


def _journals(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if "wf.exec." in str(path))


def judge(folder: Path) -> list[str]:
    """What is wrong in the end."""
    problems: list[str] = []

    async def look() -> None:
        opened = backend(folder)
        try:
            eid = await _eid(opened)
            assert eid is not None
            entries = (await opened.ports.journal.read(eid)).entries
            fold = JournalFold(entries)
            if getattr(fold.end, "value", None) != VALUE:
                problems.append(f"S3: it ended with {fold.end}")
            problems.extend(f"S2: {anomaly.problem}" for anomaly in fold.anomalies)
            examined = await examine(opened, SYSTEM)
            # a marker of which no entry tells is removed by a sweeper's last look, an audit period after the end
            found = [one for one in examined.findings if one.check != "marker-left"]
            problems.extend(f"{one.check}: {one.problem}" for one in found)
        finally:
            await opened.close()

    # in a process of its own: this one stays without threads
    pid = os.fork()
    if not pid:
        asyncio.run(look())
        (folder / "problems").write_text(json.dumps(problems))
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        return ["the judge failed"]
    found: list[str] = json.loads((folder / "problems").read_text())
    ran = [line.split()[:3] for line in (folder / "ledger").read_text().splitlines()]
    twice = {(fid, epoch) for fid, _, epoch in ran if ran.count([fid, _, epoch]) > 1}
    return found + [f"S7: {fid} ran twice under epoch {epoch}" for fid, epoch in sorted(twice) if "kid" not in fid]


def tell(folder: Path, case: str) -> None:
    name, _, rest = case.partition("@")
    number, _, victim = rest.partition(":")
    place = folder / case.replace("@", "-").replace(":", "-")
    place.mkdir()
    (place / "bucket").mkdir()
    (place / "ledger").touch()
    try:
        problems = run(place, name, int(number), victim)
    except Died as died:
        problems = [f"L2: {died}"]
    counted = {
        role: int((place / f"operations-{role}").read_text())
        for role in ("ask", "work")
        if (place / f"operations-{role}").exists()
    }
    print(json.dumps({"case": case, "problems": problems, "operations": counted}), flush=True)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    for one in sys.argv[2:]:
        tell(Path(sys.argv[1]), one)
