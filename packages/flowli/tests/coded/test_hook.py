"""Steps of third parties come through the hook ``flowli_codecs``."""

from __future__ import annotations

import pytest

from flowli import plugins
from flowli.adapters.coded import ValueCodec
from flowli.descriptors import CodecType, Coded
from flowli.domain.errors import ValueUnreadable


class Rot:
    """Turns each byte; the note says how far."""

    name = "rot"

    def encode(self, data: bytes, context: bytes) -> Coded | None:
        return Coded(bytes((byte + 13) % 256 for byte in data), "13")

    def decode(self, data: bytes, context: bytes, note: str) -> bytes:
        return bytes((byte - int(note)) % 256 for byte in data)


class Manager:
    def __init__(self, *types: CodecType) -> None:
        self._types = {one.name: one for one in types}

    def all(self, kind: type[CodecType]) -> dict[str, CodecType]:
        assert kind is CodecType
        return self._types


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "manager", lambda: Manager(CodecType("rot", "Turns bytes", Rot)))


@pytest.mark.usefixtures("installed")
def test_an_installed_step_is_named_and_is_found_for_what_it_wrote() -> None:
    taken, data = ValueCodec(["rot"]).seal(b"value", b"here")
    assert (taken, data) == (("rot:13",), bytes(byte + 13 for byte in b"value"))
    assert ValueCodec([]).open(taken, data, b"here") == b"value"


def test_what_an_uninstalled_step_wrote_names_it() -> None:
    with pytest.raises(ValueUnreadable, match=r"step 'rot' \(key '13'\).*install the plugin"):
        ValueCodec(["zlib"]).open(("rot:13",), b"x", b"here")


def test_the_core_brings_its_own_through_the_same_hook() -> None:
    found = plugins.manager().all(CodecType)
    assert {"zlib", "zstd"} <= found.keys()
    step = found["zlib"].load()
    coded = step.encode(b"again " * 500, b"")
    assert coded is not None
    assert step.decode(coded.data, b"", coded.note) == b"again " * 500
