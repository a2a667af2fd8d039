"""Both examples under real processes: several workers share one file, one of them is killed, and nothing is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flowli.testing.clock import ManualWorld

ROOT = Path(__file__).parents[2]
EXAMPLES = ("flowli-backend-sqlite", "flowli-store-lmdb")

APP = """
import asyncio
import os
import signal
import sys
from pathlib import Path

from flowli import Context, EngineConfig, Engine, Registry, Site
from flowli.adapters import open_backend

registry = Registry()
FOLDER = Path(__file__).parent


def write(number: int, n: int) -> int:
    with (FOLDER / "effects").open("a") as file:
        file.write(f"{number}.{n}\\n")
    return n


def die(number: int, once: str) -> str:
    marker = FOLDER / once
    if not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return once


@registry.workflow
async def order(ctx: Context, number: int) -> int:
    first = await ctx.step(write, number, 1)
    if number == 3:
        await ctx.step(die, number, "died")
    return first + await ctx.step(write, number, 2)


async def work(storage: str) -> None:
    backend = open_backend(storage)
    config = EngineConfig(exec_ttl_s=3.0, task_ttl_s=3.0, poll_s=0.1)
    engine = Engine(backend.ports, Site.local(f"w-{os.getpid()}"), registry=registry, config=config)
    if sys.argv[2] == "start":
        for number in range(8):
            await engine.start(order, number, key=f"order:{number}")
    else:
        worker = engine.worker(concurrency=4)
        done = {engine_id async for engine_id in finished(engine, worker)}
        assert len(done) == 8
    await engine.close()
    await backend.close()


async def finished(engine, worker):
    running = asyncio.create_task(worker.run())
    for number in range(8):
        eid = await engine.start(order, number, key=f"order:{number}")
        assert await engine.result(eid) == 3
        yield eid
    worker.stop()
    await running


asyncio.run(work(sys.argv[1]))
"""


def installed(folder, example):
    """What pip would put beside the source: the entry points."""
    import tomllib

    project = tomllib.loads((ROOT / "docs/examples" / example / "pyproject.toml").read_text())["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = [f"{name} = {module}" for name, module in project["entry-points"]["flowli"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[flowli]", *points]) + "\n")
    path = os.pathsep.join([str(folder), str(ROOT / "docs/examples" / example / "src")])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FLOWLI_")}
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example_is_there_for_the_tests_of_the_engine(example):
    assert __import__(example.replace("-", "_")).__file__.startswith(str(ROOT / "docs/examples"))
    assert ManualWorld


@pytest.mark.parametrize(
    ("example", "storage"),
    [("flowli-backend-sqlite", "rows:./flowli.db"), ("flowli-store-lmdb", "lmdb:./bucket.lmdb")],
    ids=["rows", "lmdb"],
)
def test_workers_share_a_file_and_one_that_is_killed_is_taken_over(tmp_path, example, storage):
    environment = installed(tmp_path, example)
    (tmp_path / "app.py").write_text(APP)

    def process(role):
        return subprocess.Popen(
            [sys.executable, "app.py", storage, role],
            cwd=tmp_path,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    starting = process("start")
    assert (starting.communicate(timeout=100)[0], starting.returncode) == ("", 0)
    workers = [process("work") for _ in range(3)]
    printed = [one.communicate(timeout=100)[0] for one in workers]
    codes = sorted(one.returncode for one in workers)
    assert codes == [-signal.SIGKILL, 0, 0], printed
    effects = (tmp_path / "effects").read_text().split()
    assert set(effects) == {f"{number}.{n}" for number in range(8) for n in (1, 2)}
    assert effects.count("3.1") == 1, "what had finished before the kill is not run again"
    shown = subprocess.run(
        [sys.executable, "-m", "flowli.cli", "list", "--storage", storage],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert shown.stdout.count("completed") == 8, shown.stdout + shown.stderr
