"""The environment is that of the checkout: an environment made before an entry point was added does not see it."""

import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "packages"
DISTRIBUTIONS = sorted(path.parent.name for path in PACKAGES.glob("*/pyproject.toml"))


def project(name: str) -> dict:
    return tomllib.loads((PACKAGES / name / "pyproject.toml").read_text())["project"]


def test_there_are_seven_distributions():
    assert DISTRIBUTIONS == [
        "flowli",
        "flowli-api",
        "flowli-cairn-azure",
        "flowli-cairn-gcs",
        "flowli-cairn-s3",
        "flowli-patterns",
        "flowli-runner",
    ]


def test_every_folder_in_packages_is_a_distribution():
    """One without pyproject.toml stops every hatch command."""
    assert sorted(path.name for path in PACKAGES.iterdir() if path.is_dir()) == DISTRIBUTIONS


def test_the_root_holds_what_the_architecture_says_and_nothing_else():
    ignored = {line.strip("/\n") for line in (ROOT / ".gitignore").read_text().splitlines()}
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} - ignored
    assert found == {"README.md", "docs", "hatch.toml", "noxfile.py", "packages", "tests"}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_installed_entry_points_are_those_of_the_checkout(name):
    written = project(name)
    wanted = {("console_scripts", *one) for one in written.get("scripts", {}).items()}
    wanted |= {(group, *one) for group, points in written["entry-points"].items() for one in points.items()}
    found = {(point.group, point.name, point.value) for point in distribution(name).entry_points}
    assert found == wanted, "this environment is older than the checkout; run: hatch env prune"


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_each_distribution_has_the_same_shape(name):
    folder, package = PACKAGES / name, name.replace("-", "_")
    for file in ["README.md", "CHANGELOG.md", "LICENSE", f"src/{package}/py.typed", f"src/{package}/_version.py"]:
        assert (folder / file).is_file(), file
    assert list((folder / "tests").rglob("test_*.py"))
    assert (folder / "LICENSE").read_text() == (PACKAGES / "flowli" / "LICENSE").read_text()
    written = project(name)
    assert (written["name"], written["license"], written["requires-python"]) == (name, "MIT", ">=3.11")
    assert len(written["entry-points"]["flowli"]) == 1
    assert next(iter(written["entry-points"]["flowli"].values())) == f"{package}.plugin"


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name != "flowli"])
def test_a_plugin_fits_one_minor_version_of_the_core(name):
    core, own = distribution("flowli").version, distribution(name).version
    minor = ".".join(core.split(".")[:2])
    assert own.startswith(f"{minor}.")
    assert f"flowli~={minor}.0" in project(name)["dependencies"]


def test_every_plugin_distribution_has_an_extra_of_the_core():
    extras = project("flowli")["optional-dependencies"]
    named = {one.partition("~=")[0] for extra in extras.values() for one in extra}
    assert set(DISTRIBUTIONS) - {"flowli"} <= named
    assert extras["all"] == [f"flowli[{','.join(extra for extra in extras if extra != 'all')}]"]
