"""Short files, short functions, a docstring on every public name, nothing unfinished."""

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator

MAX_FILE_LINES = 400
MEDIAN_FILE_LINES = 120
MAX_FUNCTION_LINES = 60
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")
PRAGMA = re.compile(r"#\s*(noqa|pragma|pylint|pyright|fmt:|ruff|isort|nosec|mypy:)|#\s*type:\s*ignore(?!\[)")


def lines(module) -> int:
    return module.text.count("\n")


def test_no_file_is_longer_than_400_lines(modules):
    assert [f"{one}: {lines(one)}" for one in modules if lines(one) > MAX_FILE_LINES] == []


def test_half_of_the_files_have_at_most_120_lines(modules):
    assert statistics.median(map(lines, modules)) <= MEDIAN_FILE_LINES


def test_no_function_is_longer_than_60_lines(modules):
    wrong = [
        f"{module}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1}"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_unfinished(modules):
    wrong = [f"{module}: {found.group()}" for module in modules for found in UNFINISHED.finditer(module.text)]
    assert not wrong, "\n".join(wrong)


def test_no_comment_talks_to_a_tool_except_to_say_which_type_error_is_ignored(modules):
    wrong = [
        f"{module}:{token.start[0]} {token.string}"
        for module in modules
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline)
        if token.type == tokenize.COMMENT and PRAGMA.search(token.string)
    ]
    assert not wrong, "\n".join(wrong)


def public_definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node


def is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).partition("[")[0] in {"Protocol", "typing.Protocol"} for base in node.bases)


def overridden(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(one).rpartition(".")[2] in {"overload", "override", "setter"} for one in node.decorator_list)


def test_every_public_name_has_a_docstring(modules):
    classes = [(module, node) for module in modules for node in public_definitions(module.tree.body)]
    in_protocols = {
        method.name
        for _, node in classes
        if isinstance(node, ast.ClassDef) and is_protocol(node)
        for method in public_definitions(node.body)
        if ast.get_docstring(method)
    }
    wrong = [
        f"{module}: the module" for module in modules if module.text.strip() and not ast.get_docstring(module.tree)
    ]
    for module, node in classes:
        if not ast.get_docstring(node) and not (not isinstance(node, ast.ClassDef) and overridden(node)):
            wrong.append(f"{module}:{node.lineno} {node.name}")
        for method in public_definitions(node.body) if isinstance(node, ast.ClassDef) else ():
            # a method that fulfils a Protocol is described there
            told = ast.get_docstring(method) or method.name in in_protocols or overridden(method)
            # the name of a test of a suite says what it tests
            if not told and not method.name.startswith("test_"):
                wrong.append(f"{module}:{method.lineno} {node.name}.{method.name}")
    assert not wrong, "\n".join(wrong)
