"""``flowli init``: what it makes works, and it spoils nothing."""

import ast
import json
import tomllib

import pytest

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
