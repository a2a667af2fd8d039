from pathlib import Path

import pytest

from flowli import plugins
from flowli.cairn.errors import StoreConfigError
from flowli.descriptors import StoreType
from flowli.plugin import flowli_stores
from flowli.stores import open_store
from flowli.stores.filesystem import FilesystemStore
from flowli.stores.memory import MemoryStore


@pytest.fixture(autouse=True)
def _built_in_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores of this distribution, whether it is installed or only imported."""
    found: dict[str, StoreType] = {one.name: one for one in flowli_stores()}
    monkeypatch.setattr(plugins, "find_store", found.__getitem__)


async def test_store_is_found_by_scheme_or_by_type(tmp_path: Path) -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
    assert isinstance(open_store({"type": "memory"}), MemoryStore)
    opened = [
        open_store(f"file:{tmp_path}/b"),
        open_store({"type": "file", "path": tmp_path / "b"}),
        open_store({"type": "filesystem", "path": str(tmp_path / "b")}),
    ]
    await opened[0].put("a", b"x")
    for one in opened:
        assert isinstance(one, FilesystemStore)
        assert one.url == f"file://{tmp_path}/b"
        assert await one.get("a") is not None
        await one.close()


@pytest.mark.parametrize("storage", ["", "./bucket", "bucket", ":x", "a b:c", {}, {"type": 7}, {"path": "x"}])
def test_what_names_no_store_is_refused_with_an_example(storage: str | dict[str, object]) -> None:
    with pytest.raises(StoreConfigError, match="for example"):
        open_store(storage)
