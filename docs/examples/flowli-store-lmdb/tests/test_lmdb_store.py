"""The promises of an object store, on a file that is thrown away."""

import pytest

from flowli.testing.suites.object_store import ObjectStoreSuite
from flowli.world import SYSTEM
from flowli_store_lmdb.store import LmdbStore


class TestLmdbStore(ObjectStoreSuite):
    @pytest.fixture
    async def store(self, tmp_path):
        store = LmdbStore.from_url(f"lmdb:{tmp_path}/bucket.lmdb?durability=os", world=SYSTEM)
        yield store
        await store.close()
