import pytest

from flowli.cairn.database import Cairn
from flowli.cairn.errors import LayoutTooNew, StoreDamaged
from flowli.testing.stores import CountingStore


async def test_new_bucket_is_marked_and_a_marked_one_only_read(cairn: Cairn, store: CountingStore) -> None:
    await cairn.ensure_layout()
    doc = await cairn.documents.read("wf/layout")
    assert doc is not None
    assert doc.body == {"layout": 1, "formats": {"commit": 1, "document": 1, "segment": 1}}
    mark = store.snapshot()
    await cairn.ensure_layout()
    assert [one.verb for one in store.requests[mark:]] == ["get"]


async def test_newer_layout_is_refused_naming_both_versions(cairn: Cairn, store: CountingStore) -> None:
    """STO-8."""
    await cairn.documents.create("wf/layout", {"layout": 9})
    mark = store.snapshot()
    with pytest.raises(LayoutTooNew, match=r"version 9 .* up to 1") as caught:
        await cairn.ensure_layout()
    assert (caught.value.found, caught.value.known) == (9, 1)
    assert store.since(mark).put == 0


async def test_layout_without_version_is_damage(cairn: Cairn) -> None:
    await cairn.documents.create("wf/layout", {"layout": "x"})
    with pytest.raises(StoreDamaged):
        await cairn.ensure_layout()
