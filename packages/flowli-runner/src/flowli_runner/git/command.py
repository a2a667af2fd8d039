"""Running git: no shell, no hooks, no monitor, no pager, no configuration but the repository's, no foreign protocol."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flowli.domain.errors import FlowliError

__all__ = ["Git", "GitFailed"]

_CONFIG = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    "core.excludesFile": os.devnull,
    "core.quotePath": "false",
    "core.untrackedCache": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "user.name": "flowli-runner",
    "user.email": "flowli-runner@localhost",
}
_PASSED = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT")


class GitFailed(FlowliError):
    """Git refused.

    Attributes:
        text: what it said.
    """

    def __init__(self, what: str, text: str) -> None:
        super().__init__(f"git {what} failed: {text.strip() or 'it said nothing'}")
        self.text = text


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one folder.

    Attributes:
        folder: where it runs.
        env: further variables, for instance an index of its own.
    """

    folder: Path
    env: Mapping[str, str] | None = None

    async def __call__(self, *args: str, stdin: bytes | None = None) -> str:
        """Run a command; returns its output without the last line end.

        Args:
            args: after ``git``; names that come from outside stand behind ``--end-of-options`` or ``--``.

        Raises:
            GitFailed: it ended with another code than 0.
        """
        code, out, err = await self.run(*args, stdin=stdin)
        if code:
            raise GitFailed(args[0], err)
        return out.decode("utf-8", "surrogateescape").removesuffix("\n")

    async def run(self, *args: str, stdin: bytes | None = None) -> tuple[int, bytes, str]:
        """Run a command; returns code, output and what it complained of."""
        process = await asyncio.create_subprocess_exec(
            *self.argv(*args),
            cwd=self.folder,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await process.communicate(stdin)
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        return process.returncode or 0, out, err.decode("utf-8", "replace")

    @staticmethod
    def argv(*args: str) -> list[str]:
        """The whole command."""
        settings = [part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}")]
        return ["git", "--no-pager", "--no-replace-objects", "--literal-pathspecs", *settings, *args]

    def environment(self) -> dict[str, str]:
        """All that git finds in its environment."""
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        fixed = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_EDITOR": "true",
            "LC_ALL": "C",
        }
        return {**passed, **fixed, **(self.env or {})}
