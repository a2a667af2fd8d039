from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from flowli.adapters.memory import MemoryBackend
from flowli.adapters.projection import WorkflowProjection
from flowli.domain.ports import ControlLog

Open = Callable[..., WorkflowProjection]


@pytest.fixture
def control() -> ControlLog:
    return MemoryBackend().ports.control


@pytest.fixture
async def open_projection(control: ControlLog, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens projections of ``control``, by default all on one file."""
    made: list[WorkflowProjection] = []

    def make(name: str = "flowli.db", *, source: str = "memory:") -> WorkflowProjection:
        made.append(WorkflowProjection(str(tmp_path / "state" / name), control, source=source))
        return made[-1]

    yield make
    for projection in made:
        await projection.close()


@pytest.fixture
def projection(open_projection: Open) -> WorkflowProjection:
    return open_projection()
