"""The LMDB store beyond the suite: long keys, sharing, errors, the whole engine in several processes."""

import pytest

from flowli.cairn.errors import StoreConfigError, StoreDamaged, StoreFull, StoreMissing
from flowli.cairn.write import Lost, Won
from flowli.world import SYSTEM
from flowli_store_lmdb.records import HEAD_BYTES
from flowli_store_lmdb.store import LmdbStore


def opened(path, options="durability=os"):
    return LmdbStore.from_url(f"lmdb:{path}?{options}", world=SYSTEM)


async def listed(store, prefix, page=1000):
    keys, after = [], None
    while True:
        found = await store.list(prefix, after=after, limit=page)
        keys += [one.key for one in found.items]
        if not found.more:
            return keys
        after = keys[-1]


@pytest.mark.parametrize("page", [1, 2, 1000])
async def test_keys_around_the_longest_of_lmdb_are_kept_apart_and_in_order(tmp_path, page):
    store, head = opened(tmp_path / "b"), "k" * HEAD_BYTES
    keys = [head[:-1], head, head + "/a", head + "/b", head + "0", head[:-1] + "z", "l"]
    for key in reversed(keys):
        assert isinstance(await store.put(key, key.encode(), if_absent=True), Won)
        assert isinstance(await store.put(key, b"x", if_absent=True), Lost)
    assert await listed(store, "", page) == keys
    assert await listed(store, head + "/", page) == [head + "/a", head + "/b"]
    assert await listed(store, head, page) == keys[1:5]
    await store.delete(head + "/a")
    for key in keys:
        found = await store.get(key)
        assert (found and found.data) == (None if key == head + "/a" else key.encode())
    await store.close()


async def test_two_stores_of_one_file_share_it_until_the_last_is_closed(tmp_path):
    one, other = opened(tmp_path / "b"), opened(tmp_path / "b")
    await one.put("a", b"1")
    await one.close()
    found = await other.get("a")
    assert found is not None
    assert found.data == b"1"
    await other.close()


async def test_a_full_store_says_so_and_goes_on_reading(tmp_path):
    store = opened(tmp_path / "b", "durability=os&max_mb=1")
    await store.put("a", b"1")
    with pytest.raises(StoreFull, match="larger max_mb"):
        await store.put("b", bytes(2_000_000))
    found = await store.get("a")
    assert found is not None
    assert await store.get("b") is None
    await store.close()


def test_places_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(StoreMissing, match="Make its folder first"):
        opened(tmp_path / "no" / "such" / "b")
    (tmp_path / "text").write_bytes(b"not a database " * 1000)
    with pytest.raises(StoreDamaged, match="Name a file that an LMDB store wrote"):
        opened(tmp_path / "text")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("lmdb:", "needs the path"),
        ("lmdb:./b?max_mb=0", "max_mb of an LMDB store is '0'"),
        ("lmdb:./b?durability=none", "durability of an LMDB store is 'none'"),
        ("lmdb:./b?size=1", "no setting 'size'"),
    ],
)
def test_a_wrong_url_is_refused_with_what_to_write(url, said):
    with pytest.raises(StoreConfigError, match=said):
        LmdbStore.from_url(url, world=SYSTEM)
