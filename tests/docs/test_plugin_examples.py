"""Guides for authors of stores, backends and patterns show what stands in their examples, and what they run works."""

import ast
import re
import shutil
import tomllib

import pytest

from flowli import plugins

GUIDES = {
    "write-a-store-plugin": "flowli-store-lmdb",
    "write-a-backend": "flowli-backend-sqlite",
    "write-a-pattern": "flowli-pattern-vote",
}


def comments(text):
    return set(re.findall(r"# .*", text))


def statements(tree):
    """Those of a block; a class may be shown in part."""
    for node in tree.body:
        yield from node.body if isinstance(node, ast.ClassDef) else [node]


@pytest.mark.parametrize(("page", "example"), GUIDES.items())
def test_the_code_of_a_guide_is_that_of_its_example(docs, examples, page_blocks, page, example):
    shown = [block for block in page_blocks(docs / "how-to" / f"{page}.md") if block.title]
    assert len(shown) >= 5
    for block in shown:
        text = (examples / example / block.title).read_text()
        if block.language == "toml":
            assert block.text in text, block
            continue
        # the page shows methods without the indentation that they have in their class
        there = {ast.dump(node) for node in ast.walk(ast.parse(text))}
        assert {ast.dump(node) for node in statements(ast.parse(block.text))} <= there, block
        assert comments(block.text) <= comments(text), block


@pytest.mark.parametrize(("page", "example"), GUIDES.items())
def test_a_guide_shows_the_whole_test_of_its_example(docs, examples, page_blocks, page, example):
    (test,) = [
        block
        for block in page_blocks(docs / "how-to" / f"{page}.md")
        if block.title.startswith("tests/") and not block.title.endswith("processes.py")
    ]
    assert test.text == (examples / example / test.title).read_text()
    assert sum(bool(line.strip()) for line in test.text.splitlines()) <= 20


@pytest.mark.parametrize(("page", "example"), GUIDES.items())
def test_what_a_guide_runs_works(runner, docs, examples, page_blocks, tmp_path, page, example):
    for folder in (examples / example / "src", examples / example):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("src", "__pycache__", ".*"))
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = [f"{name} = {module}" for name, module in project["entry-points"]["flowli"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[flowli]", *points]) + "\n")
    plugins.manager.cache_clear()
    try:
        runner.run_untitled(docs / "how-to" / f"{page}.md")
    finally:
        plugins.manager.cache_clear()
