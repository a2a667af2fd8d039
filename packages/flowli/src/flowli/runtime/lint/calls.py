"""Rules about calls: clocks, chance, input and output, threads, and the corners of asyncio."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowli.runtime.guard.names import CLOCK_WITHOUT, FORBIDDEN, Reason
from flowli.runtime.lint.codes import BY_REASON
from flowli.runtime.lint.names import dotted

__all__ = ["Problem", "call_problems", "words"]

Problem = tuple[ast.AST, str, str]
"""Where, which code, what to say."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_IO_CALLS = frozenset({"open", "input", "io.open", "asyncio.open_connection", "asyncio.start_server"})
_IO_MODULES = words(
    "aiofiles aiohttp boto3 botocore ftplib glob http httpx imaplib poplib psycopg psycopg2 redis requests shutil "
    "smtplib socket sqlite3 sqlalchemy subprocess tempfile urllib urllib3"
)
_PURE = ("urllib.parse.", "http.HTTPStatus", "socket.AF_", "socket.SOCK_", "urllib.error.")
_IO_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes", "unlink", "mkdir", "iterdir", "rglob"})
_OS_CALLS = words(
    "chmod chown fork kill link listdir makedirs mkdir open popen remove removedirs rename replace rmdir scandir "
    "spawnv stat symlink system truncate unlink utime walk posix_spawn putenv execv"
)
_THREADS = ("threading.Thread", "threading.Timer", "concurrent.futures.", "multiprocessing.", "asyncio.to_thread")
_LOOP_METHODS = frozenset({"run_in_executor", "run_until_complete", "call_soon_threadsafe", "add_signal_handler"})
_PROCESSES = words("asyncio.create_subprocess_exec asyncio.create_subprocess_shell asyncio.run asyncio.new_event_loop")
_MACHINE = ("os.getenv", "os.getpid", "os.cpu_count", "os.getcwd", "os.uname", "platform.", "socket.gethostname")
_MACHINE_VALUES = frozenset({"os.environ", "sys.argv", "sys.platform"})
_TASKS = frozenset({"asyncio.create_task", "asyncio.ensure_future", "asyncio.gather", "asyncio.shield"})


def call_problems(function: ast.AST, imported: dict[str, str]) -> Iterator[Problem]:
    """The problems of the calls in ``function``, and of what it reads of the machine."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = dotted(node.func, imported)
            if name is not None:
                yield from _named(node, name)
            elif isinstance(node.func, ast.Attribute):
                yield from _method(node, node.func.attr)
        elif isinstance(node, ast.Attribute) and dotted(node, imported) in _MACHINE_VALUES:
            yield node, "FL012", f"{dotted(node, imported)} differs between machines; read it in a step, or pass it in"


def _named(call: ast.Call, name: str) -> Iterator[Problem]:
    reason = FORBIDDEN.get(name)
    last = name.rpartition(".")[2]
    if reason is not None:
        if len(call.args) < CLOCK_WITHOUT.get(name, len(call.args) + 1):
            yield call, BY_REASON[reason], f"{name}() in a workflow; {reason.value}"
    elif name == "random.Random" and not call.args and not call.keywords:
        yield call, "FL002", f"random.Random() without a seed; {Reason.CHANCE.value}"
    elif name in ("random.SystemRandom", "secrets.SystemRandom") or name.startswith(("numpy.random.", "np.random.")):
        yield call, "FL002", f"{name}() in a workflow; {Reason.CHANCE.value}"
    elif name.startswith(_THREADS) or name in _PROCESSES:
        yield call, "FL007", f"{name}() in a workflow; {Reason.THREAD.value}"
    elif name.startswith(_MACHINE):
        yield call, "FL012", f"{name}() differs between machines; read it in a step, or pass it in"
    elif _is_io(name):
        yield call, "FL006", f"{name}() in a workflow; {Reason.IO.value}"
    elif name.startswith("asyncio."):
        yield from _of_asyncio(call, name)
    elif name in ("id", "hash"):
        yield call, "FL014", f"{name}() differs between processes; compare values or keys of your own"
    else:
        yield from _method(call, last) if "." in name else ()


def _is_io(name: str) -> bool:
    module, _, rest = name.partition(".")
    if name in _IO_CALLS:
        return True
    if module == "os":
        return rest in _OS_CALLS or (rest.startswith("path.") and rest.removeprefix("path.") in ("exists", "getsize"))
    return module in _IO_MODULES and bool(rest) and not name.startswith(_PURE)


def _method(call: ast.Call, method: str) -> Iterator[Problem]:
    if method in _LOOP_METHODS:
        yield call, "FL007", f".{method}() in a workflow; {Reason.THREAD.value}"
    elif method in _IO_METHODS:
        yield call, "FL006", f".{method}() in a workflow; {Reason.IO.value}"


def _of_asyncio(call: ast.Call, name: str) -> Iterator[Problem]:
    match name:
        case "asyncio.wait_for":
            yield call, "FL009", "asyncio.wait_for in a workflow; write `async with asyncio.timeout(...)`"
        case "asyncio.Future" | "asyncio.Task":
            instead = "asyncio.get_running_loop().create_future() or asyncio.create_task(...)"
            yield call, "FL015", f"{name}() in a workflow; use {instead}"
        case "asyncio.as_completed" if call.args and _has_bare_coroutines(call.args[0]):
            instead = "make tasks first (asyncio.create_task), or use ctx.as_completed"
            yield call, "FL008", f"asyncio.as_completed over bare coroutines; {instead}"


def _has_bare_coroutines(argument: ast.expr) -> bool:
    match argument:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return any(_is_bare(one) for one in elts)
        case ast.ListComp(elt) | ast.GeneratorExp(elt) | ast.SetComp(elt):
            return _is_bare(elt)
    return False


def _is_bare(one: ast.expr) -> bool:
    if not isinstance(one, ast.Call):
        return False
    name = ast.unparse(one.func)
    return name not in _TASKS and name.rpartition(".")[2] not in ("create_task", "ensure_future")
