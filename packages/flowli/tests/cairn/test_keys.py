from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowli.cairn.database import Cairn
from flowli.cairn.errors import KeyRefused
from flowli.cairn.keys import MAX_KEY_BYTES, check_key, check_prefix, instant_of, instant_part
from flowli.testing.stores import CountingStore
from flowli.timestamp import Timestamp

BAD = {
    "": "is empty",
    "/a": "empty part",
    "a//b": "empty part",
    "a/": "empty part",
    ".": "'.' or '..'",
    "../x": "'.' or '..'",
    "a/../b": "'.' or '..'",
    "a/.": "'.' or '..'",
    "..\\x": "backslash",
    "a\0": "control",
    "a\n": "control",
    "a\x7f": "control",
    "caf\u00e9": "outside ASCII",
    "\uff0e\uff0e/x": "outside ASCII",
    "x" * 901: "901 bytes long and the limit is 900",
}


@pytest.mark.parametrize("key", BAD)
def test_refusal_names_the_rule(key: str) -> None:
    with pytest.raises(KeyRefused, match=BAD[key]):
        check_key(key)


@pytest.mark.parametrize("key", [*BAD, "%2e%2e\\", "a/..", "wf/\u2025/x"])
async def test_bad_keys_reach_no_store(cairn: Cairn, store: CountingStore, key: str) -> None:
    documents = cairn.documents
    for attempt in (
        lambda: documents.read(key),
        lambda: documents.create(key, {}),
        lambda: documents.create_bytes(key, b"x"),
        lambda: cairn.claims.claim(key, 1),
        lambda: cairn.leases.acquire(key, {}, 1),
        lambda: cairn.leases.request(key, {"id": "r"}),
    ):
        with pytest.raises(KeyRefused):
            await attempt()
    assert store.requests == []


@pytest.mark.parametrize("name", ["../../x", "a/../../../b", "a/b", "", "..", "x" * 900])
def test_bad_log_names_are_refused_at_once(cairn: Cairn, name: str) -> None:
    with pytest.raises(KeyRefused):
        cairn.log(name)


async def test_longest_log_name_has_room_for_all_its_keys(cairn: Cairn) -> None:
    log = cairn.log("x" * 856)
    for n in range(64):
        await log.append_next([{"n": n}], "w")
    assert await log.segments.write(1)
    with pytest.raises(KeyRefused):
        cairn.log("x" * 857)


@pytest.mark.parametrize("key", ["a", "...", "a/..b", "%2e%2e", ".locks", ".tmp/x", "A", "x" * 900, "a b", "a:b=c~d"])
def test_plain_keys_pass(key: str) -> None:
    assert check_key(key) == key


async def test_limit_of_a_store_counts_when_it_is_smaller(cairn: Cairn, store: CountingStore) -> None:
    small = replace(store.capabilities, max_key_bytes=10)

    class Small(CountingStore):
        capabilities = small

    with pytest.raises(KeyRefused, match="11 bytes long and the limit is 10"):
        await Cairn(Small(store), cairn.world).documents.read("x" * 11)


@given(st.text(alphabet="ab/.\\\0\u00e9 ~", max_size=12))
def test_a_key_passes_exactly_if_all_its_parts_do(key: str) -> None:
    parts = key.split("/")
    good = bool(key) and all(
        part not in ("", ".", "..") and all(" " <= c <= "~" and c != "\\" for c in part) for part in parts
    )
    try:
        check_key(key)
    except KeyRefused:
        assert not good
    else:
        assert good


@given(st.text(alphabet="ab/.~", min_size=1, max_size=10), st.integers(0, 10))
def test_every_beginning_of_a_key_is_a_prefix(key: str, cut: int) -> None:
    try:
        check_key(key)
    except KeyRefused:
        return
    assert check_prefix(key[:cut]) == key[:cut]


@pytest.mark.parametrize("prefix", ["/", "a//", "../", "a/./", "\0", "x" * (MAX_KEY_BYTES + 1)])
def test_what_no_key_begins_with_is_no_prefix(prefix: str) -> None:
    with pytest.raises(KeyRefused):
        check_prefix(prefix)


@given(st.integers(0, 253402300799999999))
def test_instants_in_keys_are_found_again(us: int) -> None:
    instant = Timestamp(us)
    assert instant_of(f"{instant_part(instant)}.x") == instant


@pytest.mark.parametrize("part", ["", "x", "2026-13-30T14:25:14.123456Z", "2026-11-30T14:25:14Z"])
def test_other_parts_hold_no_instant(part: str) -> None:
    assert instant_of(part) is None
