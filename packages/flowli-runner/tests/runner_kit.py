"""What the tests of the runner share."""

from __future__ import annotations

import subprocess
from pathlib import Path

NAMED = ["-c", "user.name=test", "-c", "user.email=t@example.org", "-c", "commit.gpgSign=false"]


def git(folder: Path, *args: str) -> str:
    """Git as a person uses it."""
    done = subprocess.run(["git", *NAMED, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "src").mkdir()
    (folder / "src/app.py").write_text("print('hello')\n")
    (folder / "README").write_text("read me\n")
    (folder / ".gitignore").write_text("build/\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder
