"""``flowli init``: what it makes works, and it spoils nothing."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

from flowli.cli.init.templates import PLUGINS
from flowli.descriptors import DESCRIPTORS
from flowli.plugins import Manager, Source

FILES = {"app.py", "test_app.py", "pyproject.toml", "README.md", ".gitignore"}


def test_a_small_application_is_made(invoke, tmp_path):
    folder = tmp_path / "Hello World"
    done = invoke("init", folder)
    assert done.exit_code == 0
    assert {one.name for one in folder.iterdir()} == FILES
    assert tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"] == "hello-world"
    assert "{{" not in "".join(one.read_text() for one in folder.iterdir())
    for name in ("app.py", "test_app.py"):
        ast.parse((folder / name).read_text())


def test_an_empty_folder_is_taken(invoke, tmp_path):
    (tmp_path / "empty").mkdir()
    assert invoke("init", tmp_path / "empty").exit_code == 0


def test_a_folder_that_holds_anything_is_refused(invoke, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    done = invoke("init", tmp_path)
    assert done.exit_code == 1
    assert done.stderr == f"flowli: {tmp_path} is not empty; name a folder that is empty or does not exist yet\n"
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(invoke, tmp_path):
    (tmp_path / "app").write_text("")
    assert invoke("init", tmp_path / "app").exit_code == 2
    assert invoke("init", tmp_path / "app" / "below").exit_code == 2


def test_a_script_learns_what_was_made(invoke, tmp_path):
    done = invoke("init", tmp_path / "a", "--json")
    assert set(json.loads(done.output)["files"]) == FILES


@pytest.mark.parametrize("arguments", [(), ("a", "b")])
def test_it_takes_one_folder(invoke, arguments):
    assert invoke("init", *arguments).exit_code == 2


KINDS = {"store": 36, "backend": 160, "pattern": 2}


def run_tests(folder, *options):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("kind", sorted(PLUGINS))
def test_a_plugin_is_made_whose_test_passes(invoke, tmp_path, kind):
    folder = tmp_path / f"flowli-{kind}-shelf"
    done = invoke("init", folder, "--plugin", kind)
    assert done.exit_code == 0
    assert "pytest" in done.output
    printed = run_tests(folder)
    passed = re.search(r"(\d+) passed", printed)
    assert passed, printed
    assert int(passed[1]) >= KINDS[kind]
    assert "failed" not in printed


@pytest.mark.parametrize("kind", sorted(PLUGINS))
def test_what_is_made_registers_what_its_project_file_says(invoke, tmp_path, monkeypatch, kind):
    folder = tmp_path / f"acme-{kind}s"
    invoke("init", folder, "--plugin", kind)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == f"acme-{kind}s"
    ((name, module),) = project["entry-points"]["flowli"].items()
    monkeypatch.syspath_prepend(folder / "src")
    source = Source(name, project["name"], project["version"], module, lambda: __import__(module, fromlist=["plugin"]))
    (descriptor,) = Manager([source]).all(DESCRIPTORS[f"flowli_{kind}s"]).values()
    assert descriptor.name == name
    if kind == "pattern":
        assert descriptor.load().__name__ == f"ask_{name}"
    else:
        opened = descriptor.load().from_url(f"{name}:mine", world=None)
        assert opened.url == f"{name}:mine"


@pytest.mark.parametrize("kind", ["backend", "store"])
def test_a_broken_plugin_is_told_which_promise_it_breaks(invoke, tmp_path, kind):
    folder = tmp_path / "shelf"
    invoke("init", folder, "--plugin", kind)
    module = folder / "src/shelf" / {"store": "store.py", "backend": "evidence.py"}[kind]
    text = module.read_text()
    spoilt = {"store": text.replace("else Gone()", "else None"), "backend": text.replace("return False", "pass")}[kind]
    assert spoilt != text
    module.write_text(spoilt)
    said = {"store": "ObjectStore breaks a promise: if version on an absent key never creates", "backend": "Evidence"}
    only = {"store": "absent_key", "backend": "TestEvidence"}[kind]
    assert said[kind] in run_tests(folder, "-k", only)


@pytest.mark.parametrize("name", ["flowli-store-", "7-things", "STORE", "flowli"])
@pytest.mark.parametrize("kind", sorted(PLUGINS))
def test_every_folder_name_makes_names_that_python_takes(kind, name):
    made = PLUGINS[kind].made(name)
    assert not [path for path in made if "{{" in path or "{{" in made[path]]
    for path, text in made.items():
        if path.endswith(".py"):
            ast.parse(text)
    package = next(path for path in made if path.endswith("py.typed")).split("/")[1]
    assert package.isidentifier()
    assert package != "flowli"
    (scheme,) = tomllib.loads(made["pyproject.toml"])["project"]["entry-points"]["flowli"]
    assert scheme.isidentifier()


def test_an_unknown_kind_of_plugin_is_refused(invoke, tmp_path):
    done = invoke("init", tmp_path / "x", "--plugin", "stroe")
    assert done.exit_code == 2
    assert "store" in done.stderr
    assert not (tmp_path / "x").exists()
