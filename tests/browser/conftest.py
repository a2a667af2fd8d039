"""`flowli dev` and workers as processes on one folder, and Debian's Chromium in front of them."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

import flowli_api
from flowli import CairnBackend, Engine, Site

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "docs/examples"
AXE = HERE.parents[1] / "packages/flowli-api/web/node_modules/axe-core/axe.min.js"
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TTL_S = "2"
PATIENCE_MS = int(os.environ.get("FLOWLI_PATIENCE_MS", "60000"))
"""How long a page may take on a machine that does much else; nothing waits for it to pass."""


def needs(found: object, reason: str) -> None:
    """Skip, or fail where everything has to be there."""
    if not found:
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


async def picture(page: Page, name: str) -> None:
    """Keep a picture of a page if a folder is named for them."""
    folder = os.environ.get("FLOWLI_SCREENSHOTS")
    if folder:
        await page.screenshot(path=Path(folder) / f"{name.replace('/', '-')}.png")


class Office:
    """The processes on one bucket.

    Attributes:
        address: opens the interface, with the token.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.storage = f"file:{folder}/bucket?durability=os"
        self.backend = CairnBackend.open(self.storage)
        self.engine = Engine(self.backend.ports, Site.local("test"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def serve(self) -> None:
        """Start `flowli dev`: the service, a worker and a sweeper; wait until it has told its address."""
        self._begin("dev", "dev", "--port", "0", stdout=subprocess.PIPE)
        service = self._processes[-1]
        assert service.stdout is not None
        for line in service.stdout:
            found = re.search(rb"flowli: open (\S+)", line)
            if found:
                self.address = found[1].decode()
                threading.Thread(target=self._keep, args=(service.stdout,), daemon=True).start()
                return
        pytest.fail("the service has not told its address")

    def _keep(self, output: IO[bytes]) -> None:
        """Write down what a process says: a full pipe would hold it up."""
        with (self.folder / "dev.log").open("ab") as log:
            for line in output:
                log.write(line)

    def worker(self, name: str, queue: str = "default") -> subprocess.Popen[bytes]:
        """Start a worker that sweeps too."""
        self._begin(name, "worker", "--with-sweeper", "--worker-id", name, "--queue", queue)
        return self._processes[-1]

    def _begin(self, name: str, *arguments: str, stdout: int | None = None) -> None:
        paths = [str(HERE), str(EXAMPLES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths),
            "FLOWLI_EXEC_TTL": TTL_S,
            "FLOWLI_TASK_TTL": TTL_S,
        }
        command = [sys.executable, "-m", "flowli.cli", *arguments]
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--app", "office_app:registry", "--storage", self.storage],
                cwd=self.folder,  # the example keeps its ledger where it runs
                stdout=log if stdout is None else stdout,
                stderr=log if stdout is None else subprocess.STDOUT,
                env=environment,
            )
        self._processes.append(process)

    def close(self) -> None:
        """Kill all that runs still."""
        for process in self._processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser; Playwright's own cannot be downloaded everywhere."""
    path = shutil.which("chromium")
    needs(path, "there is no chromium; apt-get install chromium")
    built = Path(flowli_api.__file__).parent / "static/index.html"
    needs(built.is_file(), "the operator interface is not built; see docs/how-to/operator-interface.md")
    return str(path)


@pytest.fixture(scope="session")
def office(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """`flowli dev` with the example of the invoices."""
    made = Office(tmp_path_factory.mktemp("office"))
    try:
        made.serve()
        yield made
    finally:
        made.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """One browser for all; its profile is a fresh one."""
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        yield found
        await found.close()


@dataclass
class Visits:
    """Opens pages; what a browser complains of is kept."""

    browser: Browser
    address: str
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    async def __call__(self, view: str = "/executions", *, token: bool = True, **options: object) -> Page:
        """A page of a fresh visitor; with a token it is logged in.

        Args:
            view: the address within the interface.
            token: log in by the address that the service has told.
            options: of the browser's context: ``viewport``, ``color_scheme``.
        """
        context = await self.browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        self.contexts.append(context)
        page = await context.new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        base = self.address.partition("#")[0]
        if token:
            await page.goto(self.address)
            await page.get_by_role("heading", level=1).wait_for()
        await page.goto(f"{base}#{view}")
        return page


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, office: Office) -> AsyncIterator[Visits]:
    """Pages, without one error of a script, a missing file or the content security policy at the end."""
    made = Visits(browser, office.address)
    yield made
    for context in made.contexts:
        await context.close()
    assert made.complaints == []


_numbers = itertools.count()


@pytest.fixture
def fresh() -> str:
    """A word that no other try of a test has: a second one does not stumble over what the first has left."""
    return f"t{next(_numbers)}"


@pytest.fixture
def axe() -> str:
    """The accessibility check, as a script."""
    needs(AXE.is_file(), "axe-core is not installed; npm ci in packages/flowli-api/web")
    return AXE.read_text()
