"""What ``flowli init`` can make: which template becomes which file, and what is put into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["APPLICATION", "PLUGINS", "Template"]

_TAKEN = frozenset({"flowli", "file", "memory", "s3", "az", "gs"})
_PREFIX = re.compile(r"(flowli-)?(store-|backend-|pattern-)?")


@dataclass(frozen=True, slots=True)
class Template:
    """One kind of project.

    Attributes:
        files: the path of each template under ``files``, and of the file that it becomes.
        summary: of the distribution.
        then: what to do next, one shell line.
    """

    files: Mapping[str, str]
    summary: str
    then: str

    def made(self, folder_name: str) -> dict[str, str]:
        """Path and text of each file of a project in a folder of that name."""
        values = _values(folder_name) | {"summary": self.summary}
        made: dict[str, str] = {}
        for source, target in self.files.items():
            text = files("flowli.cli.init").joinpath("files", *source.split("/")).read_text(encoding="utf-8")
            made[_filled(target, values)] = _filled(text, values)
        return made


def _values(folder_name: str) -> dict[str, str]:
    """The names of a project, from that of its folder: ``flowli-store-shelf`` makes the scheme ``shelf``."""
    name = re.sub(r"[^a-z0-9]+", "-", folder_name.lower()).strip("-") or "app"
    if name in _TAKEN:
        name = f"{name}-mine"
    words = re.findall(r"[a-z0-9]+", _PREFIX.sub("", name, count=1)) or ["mine"]
    if words[0][0].isdigit():  # which no name of Python begins with
        words[0] = f"x{words[0]}"
    package = re.sub(r"^(?=\d)", "x", name.replace("-", "_"))
    return {
        "name": name,
        "package": package,
        "scheme": "".join(words),
        "class": "".join(word.title() for word in words),
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], text)


def _plugin(kind: str, *modules: str) -> dict[str, str]:
    return {
        "plugin/gitignore.txt": ".gitignore",
        "plugin/pyproject.txt": "pyproject.toml",
        "plugin/init.txt": "src/{{package}}/__init__.py",
        "plugin/typed.txt": "src/{{package}}/py.typed",
        f"{kind}/readme.txt": "README.md",
        f"{kind}/plugin.txt": "src/{{package}}/plugin.py",
        f"{kind}/test.txt": "tests/test_{{package}}.py",
        **{f"{kind}/{module}.txt": f"src/{{{{package}}}}/{module}.py" for module in modules},
    }


APPLICATION = Template(
    {
        "app/app.txt": "app.py",
        "app/test_app.txt": "test_app.py",
        "app/pyproject.txt": "pyproject.toml",
        "app/readme.txt": "README.md",
        "app/gitignore.txt": ".gitignore",
    },
    "A durable workflow",
    "flowli dev --app app:registry --storage file:./bucket",
)
"""A small application."""

PLUGINS: Mapping[str, Template] = {
    "store": Template(_plugin("store", "store"), "A place for buckets of flowli", "pip install -e '.[test]' && pytest"),
    "backend": Template(
        _plugin("backend", "backend", "evidence"), "A backend of flowli", "pip install -e '.[test]' && pytest"
    ),
    "pattern": Template(_plugin("pattern", "pattern"), "A pattern of flowli", "pip install -e '.[test]' && pytest"),
}
"""A distribution of its own for each kind of plugin, with its tests."""
