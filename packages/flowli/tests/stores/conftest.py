from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flowli.stores.filesystem import FilesystemStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FilesystemStore]:
    """A throw-away bucket folder."""
    opened = FilesystemStore.from_url(f"file:{tmp_path}/bucket?durability=os")
    yield opened
    await opened.close()
