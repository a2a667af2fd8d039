"""K44: plugins that collide or are broken, as installed wheels, in either order."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

COMMAND = "import sys; from flowli.cli.main import main; sys.argv = ['flowli', *sys.argv[1:]]; sys.exit(main())"


def wheel(folder: Path, distribution: str, code: str, *, entry: str = "", module: str = "") -> Path:
    """A wheel with one plugin module. Python imports from it, and finds its entry point, where it lies."""
    module = module or distribution.replace("-", "_")
    path = folder / f"{distribution.replace('-', '_')}-1.0-py3-none-any.whl"
    info = f"{distribution.replace('-', '_')}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}.py", code)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", f"[flowli]\n{entry or module} = {module}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def flowli(*arguments: str, wheels: list[Path], **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*map(str, wheels), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "1000", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


STORE = "from flowli.descriptors import StoreType\ndef flowli_stores(): return [StoreType('ftp', 'A store', object)]\n"
OBSERVER = "def flowli_observers(): raise RuntimeError('no such thing')\n"


@pytest.mark.parametrize("flip", [False, True])
def test_two_stores_of_one_name_stop_every_command_naming_both_distributions(tmp_path, flip):
    pair = [wheel(tmp_path, "acme-one", STORE), wheel(tmp_path, "acme-two", STORE)]
    done = flowli("list", wheels=pair[::-1] if flip else pair, FLOWLI_STORAGE=f"file:{tmp_path}/bucket")
    assert done.returncode == 2
    assert "flowli_stores is given 'ftp' twice" in done.stderr
    assert "acme-one 1.0" in done.stderr
    assert "acme-two 1.0" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bucket").exists()


@pytest.mark.parametrize("flip", [False, True])
def test_two_plugins_of_one_name_stop_every_command_naming_both_distributions(tmp_path, flip):
    pair = [wheel(tmp_path, "acme-one", "", entry="acme"), wheel(tmp_path, "acme-two", "", entry="acme")]
    done = flowli("list", wheels=pair[::-1] if flip else pair, FLOWLI_STORAGE=f"file:{tmp_path}/bucket")
    assert done.returncode == 2
    assert "Two plugins are named 'acme': one of acme-one 1.0, one of acme-two 1.0." in done.stderr


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def flowli_store(): return []\n", "which is no hook of flowli; did you mean 'flowli_stores'?"),
        ("def flowli_stores(config): return []\n", "declares flowli_stores(config); hooks take no arguments."),
        ("def flowli_stores(): raise RuntimeError('gone')\n", "fails (RuntimeError: gone)."),
        ("import acme_sdk_that_is_missing\n", "does not import acme_one (ModuleNotFoundError: No module named"),
    ],
)
@pytest.mark.parametrize("command", ["list", "--help"])
def test_a_broken_plugin_stops_with_one_sentence_about_its_distribution(tmp_path, code, sentence, command):
    done = flowli(command, wheels=[wheel(tmp_path, "acme-one", code)], FLOWLI_STORAGE=f"file:{tmp_path}/bucket")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "'acme_one' of acme-one 1.0" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_plugin_can_be_left_out(tmp_path):
    broken = wheel(tmp_path, "acme-one", "import acme_sdk_that_is_missing\n")
    assert flowli("--help", wheels=[broken], FLOWLI_PLUGINS_BLOCK="acme_one").returncode == 0


def test_a_broken_observer_is_reported_and_skipped(tmp_path):
    done = flowli("plugins", wheels=[wheel(tmp_path, "acme-one", OBSERVER)])
    assert done.returncode == 0
    assert (
        "flowli_observers in the plugin 'acme_one' of acme-one 1.0 fails (RuntimeError: no such thing)" in done.stderr
    )


def test_the_listing_shows_broken_and_blocked_plugins(tmp_path):
    wheels = [wheel(tmp_path, "acme-one", "import acme_sdk_that_is_missing\n"), wheel(tmp_path, "acme-two", STORE)]
    done = flowli("plugins", wheels=wheels, FLOWLI_PLUGINS_BLOCK="acme_two")
    assert "acme-one" in done.stdout
    assert "does not import" in done.stdout
    assert "acme-two" in done.stdout
    assert "blocked" in done.stdout
