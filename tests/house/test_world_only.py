"""Clock, chance, ids, sleep and threads come from a World: nothing else reads them."""

import ast

import pytest

WHOLE_MODULES = {"time", "secrets", "uuid_utils", "sched", "multiprocessing", "_thread"}
NAMES = {
    "asyncio.sleep",
    "asyncio.to_thread",
    "concurrent.futures.ProcessPoolExecutor",
    "concurrent.futures.ThreadPoolExecutor",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "os.getrandom",
    "os.urandom",
    "threading.Thread",
    "threading.Timer",
    "uuid.uuid1",
    "uuid.uuid4",
    "uuid.uuid6",
    "uuid.uuid7",
}
# file: (what it may use nevertheless, why)
EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "flowli.world": ({*WHOLE_MODULES, *NAMES, "random"}, "it is the reader"),
    "flowli.testing.clock": ({"asyncio.sleep"}, "a World of its own: it lets other tasks run, no time passes"),
    "flowli.testing.sim.node": ({"asyncio.sleep"}, "a World of its own: the loop's time is virtual"),
    "flowli.testing.sim.cluster": ({"asyncio.sleep"}, "runs on the loop whose time is virtual"),
    "flowli.testing.sim.workloads.running": (
        {"asyncio.sleep"},
        "steps, on the loop whose time is virtual",
    ),
    "flowli.testing.sim.workloads.verbs": ({"asyncio.sleep"}, "steps, on the loop whose time is virtual"),
    "flowli.testing.sim.workloads.queues": ({"asyncio.sleep"}, "steps, on the loop whose time is virtual"),
    "flowli_runner.process.supervisor": ({"time"}, "a program of its own, beside an agent: it imports nothing of ours"),
}


def uses(tree: ast.Module) -> list[tuple[str, int]]:
    """Every name that reads the world, written in full whatever it was imported as, and the line."""
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                imported[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    bare = {id(call.func) for call in calls if not call.args}
    shared_pool = {id(call.func) for call in calls if call.args and ast.unparse(call.args[0]) == "None"}
    found = []
    for node in ast.walk(tree):
        name = dotted(node, imported)
        if name is None:
            continue
        if name == "random.Random":  # as a type, or from a seed, it reads nothing
            bad = id(node) in bare
        elif name.endswith(".run_in_executor"):  # a pool of a World is no reader; the one of asyncio is
            bad, name = id(node) in shared_pool, "run_in_executor"
        else:
            module, dot, _ = name.partition(".")
            bad = name in NAMES or bool(dot and module in {*WHOLE_MODULES, "random"})
        if bad:
            found.append((name, node.lineno))
    return found


def dotted(node: ast.AST, imported: dict[str, str]) -> str | None:
    """``imported.name.of.node``; "?" stands for what was not imported."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, "?")
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, imported) or '?'}.{node.attr}"
    return None


def test_only_the_world_reads_clock_chance_ids_sleep_and_threads(modules):
    wrong = []
    for module in modules:
        excused, _ = EXCEPTIONS.get(module.name, (set(), ""))
        for name, line in uses(module.tree):
            if name not in excused and name.partition(".")[0] not in excused:
                wrong.append(f"{module}:{line} uses {name}; take it from a World")
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_still_needed(modules):
    used = {module.name: {name for name, _ in uses(module.tree)} for module in modules}
    assert [name for name in EXCEPTIONS if not used.get(name)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.time()",
        "from time import monotonic as m\nm()",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime as d\nd.utcnow()",
        "import random\nrandom.random()",
        "from random import choice\nchoice([1])",
        "import random\nrandom.Random()",
        "import uuid\nuuid.uuid4()",
        "import os\nos.urandom(1)",
        "import asyncio\nasync def f(): await asyncio.sleep(1)",
        "import threading\nthreading.Thread(target=print)",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()",
        "async def f(loop): await loop.run_in_executor(None, print)",
        "import asyncio.tasks\nasyncio.sleep(1)",
        "wait = __import__\nimport time as clock\nwait = clock.sleep",
    ],
)
def test_the_check_sees(code):
    assert uses(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "import random\ndef f(r: random.Random): r.random()",
        "import random\nrandom.Random(7)",
        "from uuid import UUID, uuid5\nuuid5(UUID(int=1), 'a')",
        "import threading\nthreading.Lock()",
        "from datetime import datetime\ndatetime.fromisoformat('2026-01-01')",
        "async def f(world): await world.sleep(1)",
        "async def f(loop, pool): await loop.run_in_executor(pool, print)",
    ],
)
def test_the_check_lets_pass(code):
    assert uses(ast.parse(code)) == []
