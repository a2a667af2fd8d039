from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from uuid import UUID

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.domain.ports import Ports
from flowli.runtime import EngineConfig
from flowli.stores.filesystem import FilesystemStore
from flowli.testing.env import TestEnvironment
from flowli.world import World

HERE = Path(__file__).parent

NOW = datetime(2026, 1, 3, tzinfo=UTC)
"""A day after the last recorded bucket was left."""


def load_story() -> ModuleType:
    """The workflows, under the name that they have in what is recorded."""
    spec = spec_from_file_location("story", HERE / "story.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["story"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_story = load_story()


@dataclass
class Recorded:
    """A copy of a recorded bucket."""

    name: str
    folder: Path
    eids: dict[str, UUID]
    stores: list[FilesystemStore] = field(default_factory=list)

    def ports(self, world: World) -> Ports:
        self.stores.append(FilesystemStore.from_url(f"file:{self.folder}?durability=os", world=world))
        return CairnBackend(self.stores[-1], world=world).ports

    def open(self) -> TestEnvironment:
        """What a process of this release makes of it."""
        coded = ValueCodec(["zlib", Encryption(KeyRing({"2026-01": b"k" * 32}))], inline_bytes=200)
        return TestEnvironment(
            _story.registry,
            ports=self.ports,
            start=NOW,
            codec=coded if self.name.endswith("-coded") else None,
            config=EngineConfig(hold_s=0.0, retire_grace_s=0.0),
        )


@pytest.fixture
def story() -> ModuleType:
    return _story


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str], Recorded]:
    """A copy of one of the recorded buckets, by its name."""

    def copy(name: str) -> Recorded:
        source = HERE / "buckets" / name
        shutil.copytree(source / "bucket", tmp_path / name)
        eids = {key: UUID(eid) for key, eid in json.loads((source / "eids.json").read_text()).items()}
        return Recorded(name, tmp_path / name, eids)

    return copy
