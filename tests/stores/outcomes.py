"""The table of conformance: what every store answers to the same operations, as the guide prints it."""

from collections.abc import Awaitable, Callable

from flowli.cairn.errors import KeyRefused
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Won

Try = Callable[[ObjectStore, str], Awaitable[object]]


async def _version(store: ObjectStore, key: str, data: bytes = b"one") -> str:
    done = await store.put(key, data)
    assert isinstance(done, Won)
    return done.version


async def _stale(store: ObjectStore, key: str) -> str:
    """The version of a body that was replaced."""
    version = await _version(store, key)
    await store.put(key, b"two", if_version=version)
    return version


async def _removed(store: ObjectStore, key: str) -> str:
    """The version of an object that was deleted: on a bucket with versions a delete marker is there."""
    version = await _version(store, key)
    await store.delete(key)
    return version


async def _swap_again(store: ObjectStore, key: str) -> object:
    version = await _version(store, key)
    await store.delete(key)
    await _version(store, key, b"another")
    return await store.put(key, b"two", if_version=version)


async def _listing(store: ObjectStore, key: str) -> str:
    for name in ("b", "a/x", "B", "a"):
        await store.put(f"{key}/{name}", b"")
    return " ".join(one.key.removeprefix(f"{key}/") for one in (await store.list(f"{key}/")).items)


async def _pages(store: ObjectStore, key: str) -> str:
    for number in range(5):
        await store.put(f"{key}/{number}", b"")
    first = await store.list(f"{key}/", limit=3)
    second = await store.list(f"{key}/", after=first.items[-1].key)
    return f"{len(first.items)} and more, {len(second.items)} and no more" if first.more and not second.more else "bad"


async def _refused(store: ObjectStore, key: str) -> object:
    try:
        return await store.put(key, b"")
    except KeyRefused:
        return "KeyRefused"


async def _then(store: ObjectStore, key: str, made: Callable[[ObjectStore, str], Awaitable[str]], work: Try) -> object:
    await made(store, key)
    return await work(store, key)


ROWS: dict[str, Try] = {
    "get an absent key": lambda s, k: s.get(k),
    "create": lambda s, k: s.put(k, b"1", if_absent=True),
    "create a key that exists": lambda s, k: _then(s, k, _version, ROWS["create"]),
    "create a key that was deleted": lambda s, k: _then(s, k, _removed, ROWS["create"]),
    "put without a condition": lambda s, k: s.put(k, b"1"),
    "swap the version that is there": lambda s, k: _swap(s, k, _version),
    "swap a version that was replaced": lambda s, k: _swap(s, k, _stale),
    "swap a version of an object that was deleted": lambda s, k: _swap(s, k, _removed),
    "swap the version of an object that was deleted and created again": _swap_again,
    "swap by a version of another store": lambda s, k: _then(s, k, _version, _foreign_swap),
    "swap an absent key": lambda s, k: _foreign_swap(s, k),
    "delete": lambda s, k: _then(s, k, _version, lambda s, k: s.delete(k)),
    "delete an absent key": lambda s, k: s.delete(k),
    "delete the version that is there": lambda s, k: _delete(s, k, _version),
    "delete a version that was replaced": lambda s, k: _delete(s, k, _stale),
    "delete a version of an object that was deleted": lambda s, k: _delete(s, k, _removed),
    "delete many, some of them absent": lambda s, k: s.delete_many([k, f"{k}x"]),
    "list `b`, `a/x`, `B`, `a`": _listing,
    "list five keys by three": _pages,
    "a key of 900 bytes": lambda s, k: s.put(f"{k}/".ljust(900, "k"), b"1", if_absent=True),
    "a key of 901 bytes": lambda s, k: _refused(s, f"{k}/".ljust(901, "k")),
    "a key with an empty part": lambda s, k: _refused(s, f"{k}//a"),
    "a key outside ASCII": lambda s, k: _refused(s, f"{k}/ä"),
}


async def _swap(store: ObjectStore, key: str, made: Callable[[ObjectStore, str], Awaitable[str]]) -> object:
    return await store.put(key, b"three", if_version=await made(store, key))


async def _delete(store: ObjectStore, key: str, made: Callable[[ObjectStore, str], Awaitable[str]]) -> object:
    return await store.delete(key, if_version=await made(store, key))


async def _foreign_swap(store: ObjectStore, key: str) -> object:
    return await store.put(key, b"two", if_version="0x8DEADBEEF")


async def outcomes(store: ObjectStore) -> dict[str, str]:
    """What a store answers to every row."""
    found: dict[str, str] = {}
    for number, (row, work) in enumerate(ROWS.items()):
        answer = await work(store, f"row/{number:02d}")
        found[row] = answer if isinstance(answer, str) else "nothing" if answer is None else type(answer).__name__
    return found
