"""Imports go downward only: the layers of the architecture, checked on the source without running it."""

import ast
import sys
from collections.abc import Iterator

import pytest

BESIDE = {"flowli.codec", "flowli.log", "flowli.evidence", "flowli.world", "flowli.timestamp", "flowli._suggest"}
HOOKS = {"flowli.plugins", "flowli.descriptors"}
PUBLIC = {"flowli", "flowli.domain", "flowli.timestamp", "flowli.descriptors"}

# What a part may import of ours, besides itself. A module belongs to its longest prefix here.
ALLOWED: dict[str, set[str]] = {
    "flowli.timestamp": set(),
    "flowli._suggest": set(),
    "flowli._version": set(),
    "flowli._facade": set(),
    "flowli.world": {"flowli.timestamp"},
    "flowli.log": {"flowli.timestamp", "flowli.world"},
    "flowli.domain": {"flowli.timestamp"},
    "flowli.codec": {"flowli.domain", "flowli.timestamp", "flowli._suggest"},
    "flowli.evidence": {"flowli.domain", *BESIDE},
    "flowli.cairn": {"flowli.timestamp", "flowli.world", "flowli.log"},
    "flowli.stores": {"flowli.cairn", "flowli.timestamp", "flowli.world", "flowli.log", *HOOKS},
    "flowli.adapters": {"flowli.stores", "flowli.cairn", "flowli.domain", *BESIDE, *HOOKS},
    "flowli.runtime": {"flowli.domain", *BESIDE, *HOOKS},
    "flowli.runtime.engine.extending": {
        *("flowli.domain", "flowli.patterns"),  # for types
        *("flowli.runtime", "flowli._suggest"),
        *HOOKS,
    },
    "flowli.telemetry": {"flowli.runtime", "flowli.cairn", "flowli.domain", "flowli._version", *BESIDE},
    "flowli.sql": {"flowli.runtime", "flowli.domain", *BESIDE},
    "flowli.client": {"flowli.runtime", "flowli.adapters", "flowli.domain", *BESIDE},
    # for types only, see below
    "flowli.descriptors": {"flowli.cairn.store", "flowli.domain.ports", "flowli.runtime", "flowli.world"},
    "flowli.hookspecs": {"flowli.descriptors"},
    "flowli._plugin_source": {"flowli.hookspecs", "flowli.descriptors", "flowli._suggest"},
    "flowli.plugins": {"flowli._plugin_source", "flowli.descriptors", "flowli._suggest"},
    # inside load only, see the start-up test
    "flowli.plugin": {
        "flowli.descriptors",
        "flowli.testing",
        "flowli.stores",
        "flowli.adapters",
        "flowli.cli",
        "flowli.sql",
    },
    "flowli._names": set(),
    "flowli.patterns": {"flowli._facade", "flowli_patterns"},
    "flowli.api": {"flowli._facade", "flowli_api"},
    "flowli.cli": {"flowli"},
    "flowli.testing": {"flowli"},
    "flowli_cairn_s3": {"flowli.cairn", "flowli.world", "flowli.timestamp", "flowli.descriptors"},
    "flowli_cairn_azure": {"flowli.cairn", "flowli.world", "flowli.timestamp", "flowli.descriptors"},
    "flowli_cairn_gcs": {"flowli.cairn", "flowli.world", "flowli.timestamp", "flowli.descriptors"},
    "flowli_patterns": {*PUBLIC, "flowli.codec"},
    "flowli_patterns.plugin": {*PUBLIC, "flowli.runtime.insight", "flowli_patterns"},  # for a type
    "flowli_patterns.api": {*PUBLIC, "flowli_api", "flowli_patterns"},
    "flowli_patterns.schedule.api": {*PUBLIC, "flowli_api", "flowli_patterns"},
    "flowli_patterns.cli": {*PUBLIC, "flowli.cli", "flowli.codec", "flowli_patterns"},
    "flowli_patterns.sim": {*PUBLIC, "flowli.testing", "flowli_patterns"},
    "flowli_api": {*PUBLIC, *BESIDE, "flowli.runtime", "flowli.plugins", "flowli.adapters.projection", "flowli.cli"},
    "flowli_api.bill": {"flowli.cairn.observe", "flowli.cli", "flowli_api"},
    "flowli_api.cli": {*PUBLIC, *BESIDE, "flowli.cairn.observe", "flowli.cli", "flowli_api"},
    "flowli_api.local": {*PUBLIC, "flowli.cairn.observe", "flowli_api"},
    "flowli_runner": {*PUBLIC, *BESIDE, "flowli.runtime", "flowli.plugins", "flowli.adapters.opening", "flowli.cli"},
    "flowli_runner.remote": {*PUBLIC, *BESIDE, "flowli.cli", "flowli_api.client", "flowli_runner"},
}
WHOLE = {"flowli.cli", "flowli.testing"}  # may import anything below them
SHALLOW = {"flowli"}  # in a list above, "flowli" means the public names and not every module under it
NEVER = {"flowli.testing": {"flowli.cli"}, "flowli.cli": {"flowli.testing"}}
STANDARD_LIBRARY_ONLY = {"flowli.domain", "flowli.timestamp", "flowli._names", "flowli._facade", "flowli.descriptors"}


def imports(module) -> Iterator[tuple[str, int]]:
    """Every module that ``module`` imports, and the line; imports inside functions and for types count too."""
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")
            base = ".".join(up[: len(up) - node.level + 1]) if node.level else ""
            target = ".".join(filter(None, [base, node.module or ""]))
            for alias in node.names:  # ``from flowli import codec`` imports a module, not a name of flowli
                inner = f"{target}.{alias.name}"
                yield (inner if inner in ALLOWED else target), node.lineno


def part_of(name: str, parts) -> str | None:
    """The longest of ``parts`` that ``name`` lies in."""
    inside = [part for part in parts if name == part or name.startswith(f"{part}.")]
    return max(inside, key=len, default=None)


def allowed(part: str, target: str) -> bool:
    if part_of(target, NEVER.get(part, ())):
        return False
    if part in WHOLE or part_of(target, [part]):
        return True
    return any(target == one if one in SHALLOW else part_of(target, [one]) for one in ALLOWED[part])


def ours(name: str) -> bool:
    return name.partition(".")[0] == "flowli" or name.startswith("flowli_")


def test_every_module_has_its_place(modules):
    homeless = [str(one) for one in modules if one.name != "flowli" and part_of(one.name, ALLOWED) is None]
    assert not homeless, f"no layer is said for {homeless}; add a row to ALLOWED and to the architecture"


def test_imports_go_downward_only(modules):
    wrong = [
        f"{module}:{line} imports {target}"
        for module in modules
        if (part := part_of(module.name, ALLOWED))
        for target, line in imports(module)
        if ours(target) and not allowed(part, target)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_table_refuses_what_the_architecture_forbids():
    assert not allowed("flowli.domain", "flowli.world")
    assert not allowed("flowli.cairn", "flowli.domain.errors")
    assert not allowed("flowli.runtime", "flowli.adapters.memory")
    assert not allowed("flowli.runtime", "flowli.cairn.log")
    assert not allowed("flowli.runtime", "flowli.stores")
    assert not allowed("flowli_patterns", "flowli.runtime.engine")
    assert not allowed("flowli_api", "flowli_patterns")
    assert allowed("flowli.adapters", "flowli.cairn.log")


@pytest.mark.parametrize("part", sorted(STANDARD_LIBRARY_ONLY))
def test_some_parts_use_the_standard_library_only(modules, part):
    wrong = [
        f"{module}:{line} imports {target}"
        for module in modules
        if part_of(module.name, ALLOWED) == part
        for target, line in imports(module)
        if not ours(target)
        and target.partition(".")[0] not in sys.stdlib_module_names
        and not (part == "flowli.descriptors" and target == "click")  # for a type
    ]
    assert not wrong, "\n".join(wrong)


def for_types(tree: ast.Module) -> set[int]:
    """The lines under ``if TYPE_CHECKING:``."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {line for block in blocks for node in block.body for line in range(node.lineno, node.end_lineno + 1)}


def test_click_and_rich_are_imported_by_command_lines_only(modules):
    wrong = [
        f"{module}:{line} imports {target}"
        for module in modules
        if module.name.split(".")[1:2] != ["cli"] and module.name.rpartition(".")[2] != "command"
        for target, line in imports(module)
        if target.partition(".")[0] in {"click", "rich"} and line not in for_types(module.tree)
    ]
    assert not wrong, "\n".join(wrong)


def test_descriptors_import_other_layers_for_types_only(modules):
    (descriptors,) = [one for one in modules if one.name == "flowli.descriptors"]
    assert {line for target, line in imports(descriptors) if ours(target)} <= for_types(descriptors.tree)


def test_the_init_of_a_plugin_is_a_docstring_only(modules):
    plugins = [one for one in modules if one.path.name == "__init__.py" and one.name.startswith("flowli_")]
    tops = [one for one in plugins if "." not in one.name]
    assert len(tops) == 6
    assert [str(one) for one in tops if len(one.tree.body) != 1 or ast.get_docstring(one.tree) is None] == []
