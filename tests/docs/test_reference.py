"""The tables of the reference say what the code says."""

import re
from dataclasses import fields
from typing import get_args

import pytest

from flowli import hookspecs
from flowli.descriptors import DESCRIPTORS
from flowli.domain import entries, errors, ports

CODE = re.compile(r"`([^`]+)`")


def codes(cell: str) -> list[str]:
    return CODE.findall(cell)


def tags(union: object) -> set[str]:
    bodies = {member for part in get_args(union) for member in (get_args(part) or (part,))}
    return {body.tag for body in bodies if body is not entries.UnknownBody}


def test_every_journal_entry_is_in_the_table(docs, table):
    rows = table(docs / "reference/entries.md", "| Entry | Means |")
    assert {codes(row[0])[0] for row in rows} == tags(entries.JournalBody)


def test_every_control_entry_is_in_the_table(docs, table, tmp_path):
    text = (docs / "reference/entries.md").read_text().partition("## Control log")[2]
    (tmp_path / "part.md").write_text(text)
    rows = table(tmp_path / "part.md", "| Entry | Means |")
    assert {codes(row[0])[0] for row in rows} == tags(entries.ControlBody)


def test_every_error_is_in_the_table(docs, table):
    rows = table(docs / "reference/errors.md", "| Class |")
    assert {codes(row[0])[0] for row in rows} == set(errors.__all__) - {"Cancelled", "ErrorInfo"}


def methods(protocol: type) -> set[str]:
    return {name for name, value in vars(protocol).items() if callable(value) and not name.startswith("_")}


def test_every_method_of_every_port_is_in_the_table(docs, table):
    rows = table(docs / "reference/ports.md", "| Port | Attribute")
    assert len(rows) == 10
    for port, attribute, names in rows:
        protocol = getattr(ports, codes(port)[0])
        assert set(codes(names)) == methods(protocol), port
        assert codes(attribute)[0] in {field.name for field in fields(ports.Ports)}


def test_every_hook_is_in_the_table_with_what_reads_it(docs, table):
    rows = table(docs / "reference/hooks.md", "| Hook |")
    assert [(codes(hook)[0], codes(descriptor)[0]) for hook, descriptor, _, _ in rows] == [
        (hook, kind.__name__) for hook, kind in DESCRIPTORS.items()
    ]
    for hook, _, _, reader in rows:
        documented = re.search(r"Read by: (.*?)\.\s*$", getattr(hookspecs, codes(hook)[0]).__doc__, re.MULTILINE)
        assert documented
        assert documented[1].replace("``", "`").replace("nothing in this version yet", "nothing yet") == reader


def test_every_path_of_the_repository_layout_exists(docs, root, page_blocks):
    layout = next(
        block for block in page_blocks(docs / "explanation/architecture.md") if block.text.startswith("packages/")
    )
    folder = root
    for line in layout.text.splitlines():
        folder = root / "packages" if line.startswith("  ") else root
        assert (folder / line.strip()).exists(), line


def test_ids_of_promises_are_used_once(docs):
    found = [
        promise
        for page in sorted((docs / "specs").glob("*.md"))
        for promise in re.findall(r"^- \*\*([A-Z]{3}-\d+)\*\*", page.read_text(), re.MULTILINE)
    ]
    assert len(found) > 50
    assert len(found) == len(set(found))


def test_every_page_is_in_the_navigation(docs):
    config = (docs / "mkdocs.yml").read_text()
    listed = set(re.findall(r"- ([\w/-]+\.md)", config))
    found = [page.relative_to(docs) for page in docs.rglob("*.md")]
    pages = {str(page) for page in found if page.parts[0] != "examples"}
    assert listed == pages


@pytest.mark.parametrize("folder", [".", "docs"])
def test_every_relative_link_leads_somewhere(root, folder):
    pages = [root / "README.md"] if folder == "." else sorted((root / folder).rglob("*.md"))
    broken = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
        if not target.startswith(("http:", "https:")) and not (page.parent / target).exists()
    ]
    assert broken == []
