"""The layout of a bucket: one object that says which version and which formats it is written in."""

from __future__ import annotations

from collections.abc import Mapping

from flowli.cairn.document import Doc
from flowli.cairn.errors import LayoutTooNew, StoreDamaged, StoreUnsuitable
from flowli.cairn.objects import Documents
from flowli.cairn.values import JSON

__all__ = ["FORMATS", "LAYOUT_KEY", "LAYOUT_VERSION", "check_layout", "ensure_layout"]

LAYOUT_KEY = "wf/layout"
LAYOUT_VERSION = 1
FORMATS: Mapping[str, int] = {"document": 1, "commit": 1, "segment": 1}
"""The newest version of each stored form of the cairn."""


async def ensure_layout(documents: Documents, formats: Mapping[str, int] = FORMATS) -> None:
    """Check that this release can use the bucket, and mark a new bucket with the present layout.

    One read; one write more in a bucket without a layout.

    Args:
        formats: the stored forms to note in a new bucket.

    Raises:
        LayoutTooNew: the bucket was laid out by a newer release; nothing was written.
        StoreUnsuitable: the installation is being copied to here, or was moved elsewhere.
        StoreDamaged: the layout object makes no sense.
    """
    doc = await documents.read(LAYOUT_KEY)
    if doc is None:
        noted: dict[str, JSON] = dict(formats)
        doc = (await documents.create(LAYOUT_KEY, {"layout": LAYOUT_VERSION, "formats": noted})).doc
    check_layout(doc)


def check_layout(doc: Doc) -> int:
    """The version of the layout that a bucket has.

    Raises:
        LayoutTooNew: a newer release laid it out.
        StoreUnsuitable: the installation is being copied to here, or was moved elsewhere.
        StoreDamaged: the layout object makes no sense.
    """
    found = doc.body.get("layout")
    if not isinstance(found, int):
        raise StoreDamaged(f"The object {LAYOUT_KEY!r} names no layout version", "Restore it, or use another bucket")
    if (source := doc.body.get("copied_from")) is not None:
        raise StoreUnsuitable(
            f"The installation is still being copied to here from {source}",
            "Finish with flowli bucket copy --cut-over, or keep to the source",
        )
    if (target := doc.body.get("moved_to")) is not None:
        raise StoreUnsuitable(f"The installation was moved to {target}", "Name that as the storage")
    if found > LAYOUT_VERSION:
        raise LayoutTooNew(found, LAYOUT_VERSION)
    return found
