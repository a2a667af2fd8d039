"""``flowli dev --reload``: which files count, and when the child is started anew."""

import asyncio
import os
import sys

from flowli.cli.dev.reload import changed, reloading, snapshot, source_root
from flowli.world import SYSTEM


def test_python_files_count_and_nothing_else(tmp_path):
    for name in ("app.py", "pkg/inner.py", ".venv/lib.py", "__pycache__/app.py", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert {os.path.relpath(path, tmp_path) for path in snapshot(tmp_path)} == {"app.py", "pkg/inner.py"}


def test_added_removed_and_modified_files_are_changes():
    assert changed({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "d": 1}) == ["b", "c", "d"]
    assert changed({"a": 1}, {"a": 1}) == []


def test_a_folder_that_is_gone_holds_nothing(tmp_path):
    assert snapshot(tmp_path / "none") == {}


def test_the_folder_of_the_application_is_watched(tmp_path, monkeypatch):
    (tmp_path / "shop_for_reload").mkdir()
    (tmp_path / "shop_for_reload" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert source_root("shop_for_reload.flows:registry") == tmp_path / "shop_for_reload"
    assert source_root("there_is_no_such_module:registry") == tmp_path


class Steps:
    """A world whose sleep gives real children time to write, and changes a file in every third pause."""

    def __init__(self, file, log) -> None:
        self.file, self.log, self.changes = file, log, 0

    async def sleep(self, seconds: float) -> None:
        await SYSTEM.sleep(0.02)
        wanted = self.changes + 1
        if self.log.exists() and self.log.read_text().count("run") == wanted and self.changes < 2:
            self.changes += 1
            self.file.write_text(f"# {self.changes}")
            os.utime(self.file, ns=(self.changes, self.changes))


async def test_a_change_starts_the_command_anew_and_a_good_end_ends_it(tmp_path):
    """The child counts its runs; the first fails, the second is stopped by the signal, the third ends well."""
    source, log = tmp_path / "app.py", tmp_path / "log"
    source.write_text("")
    code = (
        "import sys, signal\n"
        "log = open(sys.argv[1], 'a+'); log.write('run\\n'); log.flush(); log.seek(0)\n"
        "runs = log.read().count('run')\n"
        "signal.pause() if runs == 2 else sys.exit(1 if runs == 1 else 0)\n"
    )
    command = [sys.executable, "-c", code, str(log)]
    assert await asyncio.wait_for(reloading(command, tmp_path, Steps(source, log)), 20) == 0
    assert log.read_text().count("run") == 3
