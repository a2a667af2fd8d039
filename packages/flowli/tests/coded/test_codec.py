"""The steps of a codec, the key ring, and the stored form."""

from __future__ import annotations

import base64
import hashlib
import importlib
from typing import Any

import pytest

from flowli.adapters.coded import Encryption, KeyRing, ValueCodec, Zlib, Zstd
from flowli.adapters.coded.places import of_execution
from flowli.adapters.coded.stored import from_text, parse
from flowli.adapters.coded.values import Values
from flowli.adapters.memory import MemoryBackend
from flowli.domain.data import Data
from flowli.domain.errors import BackendRefused, UsageError, ValueUnreadable
from flowli.testing.clock import ManualWorld
from flowli.testing.suites.port_suite import new_eid

OLD, NEW = b"o" * 32, b"n" * 32
HERE = of_execution(new_eid())
LONG = "the same again, " * 500


def values(*steps: Any, world: ManualWorld | None = None, **options: int) -> Values:
    world = world or ManualWorld()
    return Values(ValueCodec(steps, **options), MemoryBackend(world).ports.evidence, world)


def encrypting(**keys: bytes) -> Encryption:
    return Encryption(KeyRing({name.replace("_", "-"): key for name, key in keys.items()}))


VALUES: list[Data] = [None, True, 0, 1.5, "", "ü", [], {}, [1, [2]], {"a": {"b": None}}, LONG, 2**63]
LOOKALIKES: list[Data] = [
    {"$coded": 1},
    {"$coded": {"v": 1, "steps": [], "data": "AAAA"}},
    {"$coded": {"v": 1, "value": 7}},
    {"$coded": {"v": 99}},
    {"$coded": {"$coded": {"v": 1, "value": 7}}},
    {"$coded": 1, "other": 2},
]


@pytest.mark.parametrize("steps", [(), ("zlib",), ("zlib", encrypting(k1=OLD)), (encrypting(k1=OLD),), (Zstd(),)])
@pytest.mark.parametrize("value", [*VALUES, *LOOKALIKES])
async def test_values_come_back_equal(steps: tuple[Any, ...], value: Data) -> None:
    both = values(*steps)
    assert await both.decode(await both.encode(value, HERE), HERE) == value
    listed: Data = [value]
    assert await both.decode(await both.encode(listed, HERE), HERE) == [value]


@pytest.mark.parametrize("value", VALUES)
async def test_what_no_step_changes_is_stored_as_it_is(value: Data) -> None:
    if value is not LONG:
        assert await values("zlib").encode(value, HERE) is value


@pytest.mark.parametrize("value", [{"$coded": 1}, {"$coded": {"v": 1}}, {"$coded": {"v": 1, "steps": 3, "data": "AA"}}])
async def test_a_users_map_from_before_there_was_a_codec_is_read_as_it_is(value: Data) -> None:
    assert await values("zlib").decode(value, HERE) == value


async def test_what_compresses_is_compressed_and_what_does_not_is_left() -> None:
    """COD-5."""
    both = values("zlib")
    assert len(str(await both.encode(LONG, HERE))) < len(LONG) / 10
    noise = base64.b64encode(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(40))).decode()
    assert await both.encode(noise, HERE) is noise


async def test_one_steps_writing_is_read_by_a_codec_that_has_another() -> None:
    stored = await values("zstd").encode(LONG, HERE)
    assert await values("zlib").decode(stored, HERE) == LONG
    assert await values().decode(stored, HERE) == LONG


async def test_nothing_of_an_encrypted_value_can_be_seen() -> None:
    """COD-1."""
    both = values("zlib", encrypting(k1=OLD))
    for value in ("secret-value", None, "secret-value " * 400):
        stored = await both.encode(value, HERE)
        assert "secret" not in str(stored)
        assert isinstance(stored, dict)
        assert stored.keys() == {"$coded"}
    assert await both.encode("secret", HERE) != await both.encode("secret", HERE)


async def test_the_newest_key_writes_and_all_keys_read() -> None:
    """COD-2."""
    before, after = values(encrypting(jan=OLD)), values(encrypting(jan=OLD, jun=NEW))
    old = await before.encode("v", HERE)
    new = await after.encode("v", HERE)
    assert "aes-gcm:jan" in str(old)
    assert "aes-gcm:jun" in str(new)
    assert await after.decode(old, HERE) == "v"
    assert await after.decode(new, HERE) == "v"


async def test_a_missing_key_is_named_and_is_no_outcome() -> None:
    """COD-3."""
    stored = await values(encrypting(jun=NEW)).encode("v", HERE)
    with pytest.raises(
        ValueUnreadable, match=r"key 'jun'.*does not have.*'jan'.*add that key.*Nothing is lost"
    ) as found:
        await values(encrypting(jan=OLD)).decode(stored, HERE)
    assert isinstance(found.value, BackendRefused)
    assert HERE.label in str(found.value)


async def test_no_encryption_at_all_names_step_and_key() -> None:
    stored = await values(encrypting(jun=NEW)).encode("v", HERE)
    with pytest.raises(ValueUnreadable, match=r"step 'aes-gcm' \(key 'jun'\).*does not have"):
        await values("zlib").decode(stored, HERE)


async def test_another_key_under_the_same_id_is_told() -> None:
    """COD-3."""
    stored = await values(encrypting(jun=NEW)).encode("v", HERE)
    with pytest.raises(ValueUnreadable, match="does not open with key 'jun'"):
        await values(encrypting(jun=OLD)).decode(stored, HERE)


async def test_a_value_does_not_open_in_another_place() -> None:
    """COD-4."""
    both = values(encrypting(k=OLD))
    stored = await both.encode("v", HERE)
    with pytest.raises(ValueUnreadable, match="moved from another place"):
        await both.decode(stored, of_execution(new_eid()))


@pytest.mark.parametrize("place", range(0, 60, 7))
async def test_a_changed_value_does_not_open(place: int) -> None:
    """COD-4."""
    both = values(encrypting(k=OLD))
    stored: Any = await both.encode("a value of some length", HERE)
    data = bytearray(base64.b64decode(stored["$coded"]["data"]))
    data[place % len(data)] ^= 1
    stored["$coded"]["data"] = base64.b64encode(data).decode()
    with pytest.raises(ValueUnreadable):
        await both.decode(stored, HERE)


async def test_a_changed_compressed_value_is_told() -> None:
    broken: Data = {"$coded": {"v": 1, "steps": ["zlib"], "data": "AAAA"}}
    with pytest.raises(ValueUnreadable, match="does not decompress with zlib"):
        await values("zlib").decode(broken, HERE)


async def test_a_form_of_a_newer_release_is_told() -> None:
    newer: Data = {"$coded": {"v": 2, "steps": [], "something": "else"}}
    with pytest.raises(ValueUnreadable, match="form 2 and this release reads 1; upgrade"):
        await values("zlib").decode(newer, HERE)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: KeyRing({}), "at least one key"),
        (lambda: KeyRing({"a b": OLD}), "'a b' is no name"),
        (lambda: KeyRing({"a": b"short"}), "has 5 bytes; AES-256 takes 32"),
        (lambda: KeyRing.parse("a:???"), "key 1 of the ring"),
        (lambda: KeyRing.parse(f"a:{base64.b64encode(OLD).decode()},nothing"), "has 0 bytes"),
        (lambda: ValueCodec(["zlibb"]), "no codec step is named 'zlibb'; did you mean 'zlib'"),
        (lambda: ValueCodec([Zlib(), "zlib"]), "two steps"),
        (lambda: ValueCodec(inline_bytes=0), "inline_bytes is 0"),
        (lambda: ValueCodec(inline_bytes=11, max_value_bytes=10), "the second the larger"),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_do(make: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make()


def test_a_ring_is_read_from_one_text_and_shows_no_key() -> None:
    text = ", ".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in (("jan", OLD), ("jun", NEW)))
    ring = KeyRing.parse(text)
    assert (ring.ids, ring.newest, ring.get("jan")) == (("jan", "jun"), "jun", OLD)
    assert repr(ring) == "KeyRing(jan, jun)"
    with pytest.raises(UsageError) as found:
        KeyRing.parse(f"jan:{text}:")
    assert base64.b64encode(OLD).decode() not in str(found.value)


def test_missing_libraries_are_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if "zstd" in name or name == "zstandard":
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(UsageError, match=r"pip install 'flowli\[compression\]'"):
        Zstd()
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(UsageError, match=r"pip install 'flowli\[encryption\]'"):
        encrypting(k=OLD)


def test_texts_that_only_look_like_stored_forms_are_no_stored_forms() -> None:
    for text in ("", "boom", "$coded:", "$coded:{", "$coded:[]", '$coded:{"other": 1}'):
        assert from_text(text) is None
    assert parse({"$coded": {"v": 1, "steps": [], "data": "not base64!"}}) is None
