from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flowli.stores.filesystem import FilesystemStore
from flowli.testing.suites.object_store import ObjectStoreSuite


class TestFilesystemStore(ObjectStoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[FilesystemStore]:
        store = FilesystemStore.from_url(f"file:{tmp_path}/bucket")
        yield store
        await store.close()
