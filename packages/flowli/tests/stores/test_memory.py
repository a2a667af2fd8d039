from collections.abc import AsyncIterator

import pytest

from flowli.cairn.errors import StoreConfigError
from flowli.stores.memory import MemoryStore
from flowli.testing.suites.object_store import ObjectStoreSuite


class TestMemoryStore(ObjectStoreSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[MemoryStore]:
        store = MemoryStore()
        yield store
        await store.close()


async def test_a_name_is_one_store_and_no_name_is_a_new_one() -> None:
    await MemoryStore.from_url("memory:shared-by-this-test").put("a", b"x")
    assert await MemoryStore.from_config({"type": "memory", "name": "shared-by-this-test"}).get("a") is not None
    await MemoryStore.from_url("memory:").put("a", b"x")
    assert await MemoryStore.from_url("memory:").get("a") is None


@pytest.mark.parametrize("url", ["memory:a/b", "memory:?x=1", "mem:", "memory://a"])
def test_other_forms_of_url_are_refused(url: str) -> None:
    with pytest.raises(StoreConfigError, match="Write memory:"):
        MemoryStore.from_url(url)


def test_unknown_setting_is_refused() -> None:
    with pytest.raises(StoreConfigError, match="'path'"):
        MemoryStore.from_config({"type": "memory", "path": "x"})
