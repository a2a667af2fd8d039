"""Records the bucket of the present format under ``buckets``: run it when a release changes a stored form.

``python record.py NAME``; a NAME that ends in ``-coded`` has its values encrypted. A recorded bucket is never recorded
again: it stands for what a release has left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.runtime import EngineConfig
from flowli.stores.filesystem import FilesystemStore
from flowli.testing.env import TestEnvironment
from flowli.testing.fakes import FakingWorker

HERE = Path(__file__).parent
BUCKETS = HERE / "buckets"
CONFIG = EngineConfig(hold_s=0.0, retire_grace_s=0.0)


def load_story() -> ModuleType:
    """The workflows, from a file that is named without its folder: tracebacks are recorded too."""
    os.chdir(HERE)
    module = sys.modules["story"] = ModuleType("story")
    exec(compile(Path("story.py").read_text(), "story.py", "exec"), module.__dict__)
    return module


story: Any = load_story()


def codec_of(name: str) -> ValueCodec | None:
    """The codec of a recorded bucket. Its key is public: nothing in it is a secret."""
    if not name.endswith("-coded"):
        return None
    return ValueCodec(["zlib", Encryption(KeyRing({"2026-01": b"k" * 32}))], inline_bytes=200)


async def tell(env: TestEnvironment) -> dict[str, Any]:
    """Leave an execution in every state, and say which is which."""

    async def order(number: str, **options: Any) -> str:
        return str(await env.start(story.approve, story.Order(number, Decimal("9.50")), **options))

    eids: dict[str, str] = {}
    eids["archived"] = str(await env.start(story.reject))
    await env.settle()
    await env.clock.drive(env.engine.retention(0).run_once())

    eids["waiting"] = await order("waiting", key="order:1")
    eids["retrying"] = await order("busy")
    eids["answered"] = await order("answered")
    eids["listening"] = str(await env.start(story.listen))
    eids["failed"] = str(await env.start(story.reject))
    await env.settle()
    await env.clock.drive(env.engine.broadcast("news", {"n": 1}))
    await env.signal(UUID(eids["answered"]), "answer", "yes")
    eids["paused"] = await order("paused")
    await env.settle()
    await env.clock.drive(env.engine.pause(eids["paused"], "on holiday"))
    await env.settle()
    await env.advance(timedelta(days=1))
    eids["crashed"] = await order("crashed")
    await hang(env)
    eids["pending"] = await order("pending", priority=7, timeout=timedelta(days=300))
    return eids


async def hang(env: TestEnvironment) -> None:
    """A worker is in the middle of a step and does not get out of it."""

    async def for_ever(order: object) -> Decimal:
        await asyncio.Event().wait()
        raise AssertionError("never")

    env.replace(story.charge, for_ever)
    worker = FakingWorker(env.engine, env._fakes, queues=("default",))
    running = asyncio.ensure_future(worker.run_until_idle())
    await env.clock.advance(2)
    assert not running.done()


async def main(name: str) -> None:
    """Record, and die without another word."""
    folder = BUCKETS / name
    if folder.exists():
        raise SystemExit(f"{folder} is recorded already")
    folder.mkdir(parents=True)
    url = f"file:{folder}/bucket?durability=os"

    def ports(world: Any) -> Any:
        return CairnBackend(FilesystemStore.from_url(url, world=world), world=world).ports

    codec = codec_of(name)
    env = TestEnvironment(story.registry, ports=ports, config=CONFIG, codec=codec, check_replay=False)
    eids = await tell(env)
    (folder / "eids.json").write_text(json.dumps(eids, indent=1) + "\n")
    shutil.rmtree(folder / "bucket" / ".locks")
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
