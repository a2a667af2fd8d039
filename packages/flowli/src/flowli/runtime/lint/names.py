"""Names in full, whatever they were imported as."""

from __future__ import annotations

import ast

__all__ = ["dotted", "imports_of", "module_level_names"]


def imports_of(tree: ast.AST) -> dict[str, str]:
    """The full name behind each imported one, wherever in the file it is imported."""
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                imported[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
    return imported


def dotted(node: ast.AST, imported: dict[str, str]) -> str | None:
    """``imported.name.of.node``; None for what is no plain name."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, imported)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def module_level_names(tree: ast.Module) -> set[str]:
    """The variables of a module."""
    found: set[str] = set()
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found
