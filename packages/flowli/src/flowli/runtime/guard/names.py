"""What a workflow may not call, and what it should use instead: one table for the guard and for ``flowli lint``."""

from __future__ import annotations

from enum import Enum

from flowli.domain.errors import NotDeterministic

__all__ = ["CLOCK_WITHOUT", "FORBIDDEN", "Reason", "refusal"]


class Reason(Enum):
    """Why a replay could not repeat a call; the value says what to use instead."""

    CLOCK = "use ctx.now, which is the same on every replay"
    SLEEP = "use await ctx.sleep(...) or await asyncio.sleep(...), which are durable"
    CHANCE = "use ctx.random, which is the same on every replay"
    IDS = "use ctx.uuid(), which is the same on every replay"
    SECRET = "draw it in a step (await ctx.step(...)), whose result is remembered"
    IO = "do it in a step (await ctx.step(...)), whose result is remembered"
    THREAD = "run it in a step (await ctx.step(...)), or as a task (asyncio.create_task)"
    ORDER = "keep your own list of the tasks that you make"


def _under(module: str, names: str, reason: Reason) -> dict[str, Reason]:
    return {f"{module}.{name}": reason for name in names.split()}


FORBIDDEN: dict[str, Reason] = {
    **_under("time", "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time", Reason.CLOCK),
    **_under("time", "process_time_ns thread_time thread_time_ns clock_gettime clock_gettime_ns", Reason.CLOCK),
    **_under("time", "localtime gmtime ctime asctime strftime", Reason.CLOCK),
    **_under("time", "sleep", Reason.SLEEP),
    **_under("datetime.datetime", "now utcnow today", Reason.CLOCK),
    **_under("datetime.date", "today", Reason.CLOCK),
    **_under("random", "random uniform triangular randint choice randrange sample shuffle choices", Reason.CHANCE),
    **_under("random", "normalvariate lognormvariate expovariate vonmisesvariate gammavariate gauss", Reason.CHANCE),
    **_under("random", "betavariate binomialvariate paretovariate weibullvariate getrandbits randbytes", Reason.CHANCE),
    **_under("random", "seed getstate setstate", Reason.CHANCE),
    **_under("uuid", "uuid1 uuid4 uuid6 uuid7 uuid8 getnode", Reason.IDS),
    **_under("os", "urandom getrandom", Reason.SECRET),
    **_under("secrets", "token_bytes token_hex token_urlsafe choice randbelow randbits", Reason.SECRET),
    **_under("asyncio", "all_tasks", Reason.ORDER),
}
"""Functions by full name."""

CLOCK_WITHOUT: dict[str, int] = {
    "time.localtime": 1,
    "time.gmtime": 1,
    "time.ctime": 1,
    "time.asctime": 1,
    "time.strftime": 2,
}
"""These read the clock only when they are called with fewer arguments than this."""


def refusal(call: str, reason: Reason) -> NotDeterministic:
    """The error that names a call and what to use instead."""
    return NotDeterministic(f"{call} cannot be used in a workflow: a replay could not repeat it; {reason.value}")
