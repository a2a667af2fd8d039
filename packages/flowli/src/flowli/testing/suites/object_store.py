"""``ObjectStoreSuite``: the contract of ``flowli.cairn.store.ObjectStore`` as tests.

A plugin's test file::

    import pytest
    from flowli.testing.suites.object_store import ObjectStoreSuite
    from my_plugin.store import MyStore

    class TestMyStore(ObjectStoreSuite):
        @pytest.fixture
        async def store(self):
            store = MyStore.from_url("my://…")
            yield store
            await store.close()

Each test keeps to keys of its own, so that one bucket serves all. It needs pytest and pytest-asyncio.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from flowli.cairn.errors import KeyRefused
from flowli.cairn.probe import probe
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Gone, Lost, Won
from flowli.world import SYSTEM

__all__ = ["ObjectStoreSuite"]

_BAD_KEYS = (
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "../x",
    "a/../b",
    "a/.",
    "a\\b",
    "a\0b",
    "a\nb",
    "a\n",
    "ä",
    "x" * 5000,
)
_ODD_KEYS = (
    "...",
    "A",
    "B",
    "Z" * 200,
    "a",
    "a b",
    "a!",
    "a%2fb",
    "a+b",
    "a,b",
    "a-b",
    "a.",
    "a.tmp",
    "a/b",
    "a/b.",
    "a/b/c",
    "a=",
    "a^b",
    "aB",
    "ab",
    "a~",
    "i/2026-11-30T14:25:14.123456Z",
    "i/2026-11-30T14:25:14.123456Z.x",
    "i/2026-11-30T14:25:14.123456Z/05/START:x",
    "i/2026-11-30T14:25:14x",
    "i/2026-11-30T14:z",
    "l/" + "y" * 199 + "/a",
    "l/" + "y" * 200,
    "l/" + "y" * 200 + "!",
    "l/" + "y" * 200 + "/a",
    "l/" + "y" * 201,
    "l/" + "y" * 450 + "/a",
    "l/" + "y" * 700,
    "nul",
    "{}[]()<>|*?\"':;&$#@`",
)


class ObjectStoreSuite:
    """Subclass it and give the fixture ``store``."""

    flowli_suite: ClassVar[bool] = True
    """Tells the pytest plugin that its tests are promises."""

    large_bytes = 3 * 1024 * 1024
    """Size of the large body; lower it where traffic costs."""

    racers = 8
    """How many writers race."""

    @pytest.fixture
    async def store(self) -> ObjectStore:
        """The store to be tried; override it."""
        raise NotImplementedError("override the fixture 'store'")

    @pytest.fixture
    def base(self) -> str:
        """A prefix for the keys of one test."""
        return f"suite/{SYSTEM.token()}/"

    async def test_absent_key_reads_as_none(self, store: ObjectStore, base: str) -> None:
        assert await store.get(f"{base}a") is None

    async def test_put_then_get_gives_the_body_and_its_version(self, store: ObjectStore, base: str) -> None:
        won = await store.put(f"{base}a", b"one")
        found = await store.get(f"{base}a")
        assert isinstance(won, Won)
        assert found is not None
        assert (found.data, found.version) == (b"one", won.version)
        assert found.age_s is None or 0 <= found.age_s < 600

    async def test_plain_put_replaces(self, store: ObjectStore, base: str) -> None:
        first = await store.put(f"{base}a", b"one")
        second = await store.put(f"{base}a", b"two")
        assert isinstance(first, Won)
        assert isinstance(second, Won)
        assert first.version != second.version
        assert await _body(store, f"{base}a") == b"two"

    @pytest.mark.parametrize("size", [0, 1, -1])
    async def test_body_of_any_size(self, store: ObjectStore, base: str, size: int) -> None:
        data = bytes(range(256)) * (self.large_bytes // 256) if size < 0 else b"\0" * size
        assert isinstance(await store.put(f"{base}a", data, if_absent=True), Won)
        assert await _body(store, f"{base}a") == data

    async def test_if_absent_creates_once(self, store: ObjectStore, base: str) -> None:
        assert isinstance(await store.put(f"{base}a", b"one", if_absent=True), Won)
        assert isinstance(await store.put(f"{base}a", b"two", if_absent=True), Lost)
        assert await _body(store, f"{base}a") == b"one"

    async def test_if_absent_after_delete_creates_again(self, store: ObjectStore, base: str) -> None:
        await store.put(f"{base}a", b"one", if_absent=True)
        await store.delete(f"{base}a")
        assert isinstance(await store.put(f"{base}a", b"two", if_absent=True), Won)

    async def test_if_version_replaces_the_version_that_is_there(self, store: ObjectStore, base: str) -> None:
        first = await _won(store, f"{base}a", b"one")
        second = await store.put(f"{base}a", b"two", if_version=first)
        assert isinstance(second, Won)
        assert isinstance(await store.put(f"{base}a", b"three", if_version=first), Lost)
        assert await _body(store, f"{base}a") == b"two"
        assert isinstance(await store.put(f"{base}a", b"four", if_version=second.version), Won)

    async def test_if_version_on_an_absent_key_never_creates(self, store: ObjectStore, base: str) -> None:
        version = await _won(store, f"{base}a", b"one")
        await store.delete(f"{base}a")
        assert isinstance(await store.put(f"{base}a", b"two", if_version=version), Gone)
        assert await store.get(f"{base}a") is None

    async def test_recreated_key_has_another_version(self, store: ObjectStore, base: str) -> None:
        version = await _won(store, f"{base}a", b"one")
        await store.delete(f"{base}a")
        await _won(store, f"{base}a", b"two")
        assert isinstance(await store.put(f"{base}a", b"three", if_version=version), Lost)

    async def test_of_racing_creators_one_wins(self, store: ObjectStore, base: str) -> None:
        """STO-3."""
        for round_number in range(5):
            key = f"{base}race/{round_number}"
            results = await asyncio.gather(
                *(store.put(key, str(n).encode(), if_absent=True) for n in range(self.racers))
            )
            winners = [n for n, one in enumerate(results) if isinstance(one, Won)]
            assert len(winners) <= 1
            assert all(isinstance(one, Lost) for n, one in enumerate(results) if n not in winners) or not winners
            if winners:
                assert await _body(store, key) == str(winners[0]).encode()

    async def test_of_racing_swaps_one_wins(self, store: ObjectStore, base: str) -> None:
        """STO-3."""
        version = await _won(store, f"{base}a", b"start")
        for round_number in range(5):
            results = await asyncio.gather(
                *(store.put(f"{base}a", f"{round_number}.{n}".encode(), if_version=version) for n in range(self.racers))
            )
            winners = [n for n, one in enumerate(results) if isinstance(one, Won)]
            assert len(winners) <= 1
            found = await store.get(f"{base}a")
            assert found is not None
            if winners:
                assert found.data == f"{round_number}.{winners[0]}".encode()
            version = found.version

    async def test_a_counter_raised_by_swaps_loses_no_step(self, store: ObjectStore, base: str) -> None:
        await _won(store, f"{base}n", b"0:")

        async def raise_it(who: int) -> None:
            for step in range(3):
                while True:
                    found = await store.get(f"{base}n")
                    assert found is not None
                    number = int(found.data.partition(b":")[0]) + 1
                    data = f"{number}:{who}.{step}".encode()
                    if isinstance(await store.put(f"{base}n", data, if_version=found.version), Won):
                        break

        await asyncio.gather(*map(raise_it, range(4)))
        assert (await _body(store, f"{base}n")).startswith(b"12:")

    async def test_delete_removes_and_may_be_repeated(self, store: ObjectStore, base: str) -> None:
        await _won(store, f"{base}a", b"one")
        assert isinstance(await store.delete(f"{base}a"), Won)
        assert isinstance(await store.delete(f"{base}a"), Won)
        assert await store.get(f"{base}a") is None
        assert [one.key for one in (await store.list(base)).items] == []

    async def test_conditional_delete_removes_only_that_version(self, store: ObjectStore, base: str) -> None:
        if not store.capabilities.conditional_delete:
            return
        first = await _won(store, f"{base}a", b"one")
        second = await store.put(f"{base}a", b"two", if_version=first)
        assert isinstance(second, Won)
        assert isinstance(await store.delete(f"{base}a", if_version=first), Lost)
        assert await _body(store, f"{base}a") == b"two"
        assert isinstance(await store.delete(f"{base}a", if_version=second.version), Won)
        assert isinstance(await store.delete(f"{base}a", if_version=second.version), Gone)

    async def test_delete_many_passes_over_absent_keys(self, store: ObjectStore, base: str) -> None:
        for name in "abc":
            await _won(store, f"{base}{name}", b"x")
        await store.delete_many(f"{base}{name}" for name in "axc")
        assert [one.key for one in (await store.list(base)).items] == [f"{base}b"]
        await store.delete_many([])

    async def test_list_is_in_byte_order(self, store: ObjectStore, base: str) -> None:
        """STO-6."""
        names = ["B", "a", "a-b", "a.b", "a/b", "a/b/c", "a0", "aB", "ab", "b", "~"]
        for name in reversed(names):
            await _won(store, base + name, b"x")
        assert [one.key for one in (await store.list(base)).items] == [base + name for name in names]

    async def test_list_gives_only_keys_of_the_prefix(self, store: ObjectStore, base: str) -> None:
        for name in ("a/1", "a/2", "ab", "b/1", "a"):
            await _won(store, base + name, b"x")
        assert await _keys(store, f"{base}a/") == [f"{base}a/1", f"{base}a/2"]
        assert await _keys(store, f"{base}a") == [base + name for name in ("a", "a/1", "a/2", "ab")]
        assert await _keys(store, f"{base}none/") == []

    async def test_list_goes_on_after_a_key(self, store: ObjectStore, base: str) -> None:
        for name in ("a", "b/1", "b/2", "c"):
            await _won(store, base + name, b"x")
        assert await _keys(store, base, after=f"{base}b/1") == [f"{base}b/2", f"{base}c"]
        assert await _keys(store, base, after=f"{base}b") == [f"{base}b/1", f"{base}b/2", f"{base}c"]
        assert await _keys(store, base, after=f"{base}c") == []

    async def test_list_in_pages_gives_each_key_once(self, store: ObjectStore, base: str) -> None:
        """STO-6."""
        names = sorted(f"{n % 7}/{n:03d}" for n in range(25))
        await asyncio.gather(*(store.put(base + name, b"x") for name in names))
        for size in (1, 4, 25, 26):
            keys: list[str] = []
            after: str | None = None
            while True:
                page = await store.list(base, after=after, limit=size)
                keys += [one.key for one in page.items]
                assert len(page.items) <= size
                if not page.more:
                    break
                assert page.items
                after = page.items[-1].key
            assert keys == [base + name for name in names]

    async def test_list_tells_versions_when_asked(self, store: ObjectStore, base: str) -> None:
        version = await _won(store, f"{base}a", b"one")
        (line,) = (await store.list(base, versions=True)).items
        assert line.version == version

    async def test_odd_keys_are_kept_apart(self, store: ObjectStore, base: str) -> None:
        for key in _ODD_KEYS:
            assert isinstance(await store.put(base + key, key.encode(), if_absent=True), Won), key
        for key in _ODD_KEYS:
            assert await _body(store, base + key) == key.encode()
        keys = [key[len(base) :] for key in await _keys(store, base)]
        assert keys == sorted(_ODD_KEYS)
        for key in _ODD_KEYS[::2]:
            await store.delete(base + key)
        assert [key[len(base) :] for key in await _keys(store, base)] == sorted(_ODD_KEYS[1::2])

    @pytest.mark.parametrize("key", _BAD_KEYS)
    async def test_bad_keys_are_refused(self, store: ObjectStore, key: str) -> None:
        with pytest.raises(KeyRefused):
            await store.put(key, b"x")
        with pytest.raises(KeyRefused):
            await store.get(key)
        with pytest.raises(KeyRefused):
            await store.delete(key)

    async def test_bad_prefixes_are_refused(self, store: ObjectStore) -> None:
        for prefix in ("../", "/", "a//", "a\0"):
            with pytest.raises(KeyRefused):
                await store.list(prefix)

    async def test_fork_sees_the_same_objects(self, store: ObjectStore, base: str) -> None:
        """STO-5."""
        await _won(store, f"{base}a", b"one")
        other = store.fork()
        try:
            assert await _body(other, f"{base}a") == b"one"
            await other.put(f"{base}a", b"two")
        finally:
            await other.close()
        assert await _body(store, f"{base}a") == b"two"

    async def test_probe_passes(self, store: ObjectStore) -> None:
        assert "put-if-absent" in await probe(store, SYSTEM)

    async def test_url_and_capabilities_make_sense(self, store: ObjectStore) -> None:
        assert ":" in store.url
        assert store.capabilities.max_key_bytes >= 900
        assert store.capabilities.page_size >= 1
        assert isinstance(store, ObjectStore)


async def _won(store: ObjectStore, key: str, data: bytes) -> str:
    result = await store.put(key, data)
    assert isinstance(result, Won)
    return result.version


async def _body(store: ObjectStore, key: str) -> bytes:
    found = await store.get(key)
    assert found is not None
    return found.data


async def _keys(store: ObjectStore, prefix: str, after: str | None = None) -> list[str]:
    return [one.key for one in (await store.list(prefix, after=after)).items]
