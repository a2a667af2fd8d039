"""Every promise of the specifications is cited by a test, and every promise that a test cites exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "docs" / "specs"
PROMISE = re.compile(r"^- \*\*([A-Z]{3}-\d+)\*\*", re.MULTILINE)
CASE = re.compile(r"\bK\d\d\b")
CASES = {"K01", "K02", "K04", "K08", *(f"K{n}" for n in range(10, 38))}


def promised() -> list[str]:
    return [found for page in sorted(SPECS.glob("*.md")) for found in PROMISE.findall(page.read_text(encoding="utf-8"))]


@cache
def docstrings() -> dict[str, str]:
    """What the tests say of themselves: a docstring of a test, or of a module for all its tests."""
    found: dict[str, str] = {}
    for path in _modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tests = [node for node in ast.walk(tree) if _is_test(node)]
        if tests:
            found[str(path.relative_to(ROOT))] = ast.get_docstring(tree) or ""
        for test in tests:
            assert isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef)
            found[f"{path.relative_to(ROOT)}::{test.name}"] = ast.get_docstring(test) or ""
    return found


def _modules() -> Iterator[Path]:
    for folder in (*ROOT.glob("packages/*/tests"), ROOT / "tests"):
        yield from folder.rglob("test_*.py")
    yield from (ROOT / "packages/flowli/src/flowli/testing/suites").glob("*.py")


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def test_every_promise_is_cited_by_a_test() -> None:
    said = "\n".join(docstrings().values())
    missing = [promise for promise in promised() if not re.search(rf"\b{promise}\b", said)]
    assert missing == []


def test_every_cited_promise_exists() -> None:
    known = set(promised())
    cited = re.compile(rf"\b(?:{'|'.join(sorted({promise[:3] for promise in known}))})-\d+\b")
    unknown = {
        (where, promise)
        for where, text in docstrings().items()
        for promise in cited.findall(text)
        if promise not in known
    }
    assert unknown == set()


def test_the_index_names_every_page_and_its_ids() -> None:
    index = (SPECS / "index.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[[^]]+\]\(([\w-]+)\.md\) \| ([A-Z]{3}) \|$", index, re.MULTILINE))
    pages = {page.stem: page.read_text(encoding="utf-8") for page in SPECS.glob("*.md") if page.stem != "index"}
    assert listed.keys() == pages.keys()
    for name, text in pages.items():
        assert {promise[:3] for promise in PROMISE.findall(text)} == {listed[name]}


def test_every_failure_case_has_a_test() -> None:
    cited = {case for text in docstrings().values() for case in CASE.findall(text)}
    assert cited >= CASES
    assert all(int(case[1:]) <= 49 for case in cited), "there are 49"
