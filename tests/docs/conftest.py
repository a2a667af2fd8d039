"""Running the pages: every block of a page in order, one namespace and one shell per page, in a folder of its own."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"

FENCE = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is to stand in, its text, and the line of the page it begins at."""

    page: Path
    language: str
    title: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, one["language"], one["title"] or "", one["text"], text.count("\n", 0, one.start()) + 1)
        for one in FENCE.finditer(text)
    ]


VARYING = {
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}": "EID",
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": "INSTANT",
    r"\b\d+(?:\.\d+)?(?:ms|s|m)\b": "DURATION",
    r"\S+-\d+ epoch": "WORKER epoch",
    r"[ \t]+": " ",
    r" ?\n ?": "\n",
}
"""What differs from run to run, and what stands for it when a page is compared with what was printed."""


def matches(expected: str, printed: str) -> bool:
    """Whether ``printed`` is ``expected`` but for what varies; ``...`` stands for anything, line ends included."""
    for pattern, name in VARYING.items():
        expected, printed = re.sub(pattern, name, expected), re.sub(pattern, name, printed)
    parts = [re.escape(part) for part in expected.strip().split("...")]
    return re.fullmatch(".*".join(parts), printed.strip(), re.DOTALL) is not None


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output that the page shows after it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), []))
        else:
            found[-1][1].append(line)
    return ((command, "\n".join(output)) for command, output in found)


def path_with(folder: Path) -> str:
    """A PYTHONPATH that begins with ``folder``."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


class Shell:
    """One bash for all console blocks of a page."""

    END = "--end-of-command--"
    LIMIT_S = 60

    def __init__(self, folder: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("FLOWLI_", "PYTEST_"))}
        environment |= {"PATH": f"{Path(sys.executable).parent}:{environment['PATH']}", "PYTHONPATH": path_with(folder)}
        environment |= {"NO_COLOR": "1", "COLUMNS": "140"}
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Run one line; returns its exit status and what it printed."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"{command}\nprintf '\\n%s %d\\n' {self.END} $?\n")
        self._bash.stdin.flush()
        printed: list[str] = []
        alarm = threading.Timer(self.LIMIT_S, os.killpg, (self._bash.pid, signal.SIGKILL))
        alarm.start()
        try:
            for line in self._bash.stdout:
                if line.startswith(self.END):
                    return int(line.split()[1]), "".join(printed)
                printed.append(line)
        finally:
            alarm.cancel()
        raise AssertionError(
            f"the shell ended, or was ended after {self.LIMIT_S} s, in {command!r}: {''.join(printed)}"
        )

    def close(self) -> None:
        """End the shell and everything that it still runs."""
        if self._bash.poll() is None:
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()


class PageRunner:
    """Runs the blocks of one page. Blocks with a title are files; python blocks without one share a namespace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shell = Shell(folder)
        self.module = ModuleType("page")

    def run_untitled(self, page: Path) -> None:
        """Run a page whose files are there already."""
        self.run(page, write=False)

    def run(self, page: Path, *, write: bool = True) -> None:
        for block in blocks(page):
            if block.title and not write:
                continue
            if block.title:
                target = self.folder / block.title
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                source = "\n" * block.line + block.text  # so that tracebacks show lines of the page
                exec(compile(source, str(page), "exec"), self.module.__dict__)
            elif block.language == "console":
                self.console(block)
            else:
                assert block.language in ("text", "toml"), f"{block}: a {block.language} block that nothing runs"

    def console(self, block: Block) -> None:
        for command, expected in commands(block):
            status, printed = self.shell.run(command)
            assert status == 0, f"{block}: {command!r} exits with {status}:\n{printed}"
            assert not expected or matches(expected, printed), (
                f"{block}: {command!r} prints\n{printed}\ninstead of\n{expected}"
            )


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageRunner]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    running = PageRunner(tmp_path)
    monkeypatch.setitem(sys.modules, "page", running.module)
    yield running
    running.shell.close()
    for name, module in list(sys.modules.items()):  # what one page has written is not found by the next
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.fixture
def install(tmp_path: Path) -> Callable[[Path], None]:
    """Installs the distribution that a page writes: its modules are on the path already, this adds its metadata."""

    def install_page(page: Path) -> None:
        import tomllib

        block = next(block for block in blocks(page) if block.title == "pyproject.toml")
        project = tomllib.loads(block.text)["project"]
        info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        lines = [f"[{group}]" for group in project["entry-points"]]
        for group, points in project["entry-points"].items():
            lines.insert(
                lines.index(f"[{group}]") + 1, "\n".join(f"{name} = {value}" for name, value in points.items())
            )
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")

    return install_page


@pytest.fixture
def table() -> Callable[[Path, str], list[list[str]]]:
    """Reads a table of a page: the rows under the header that begins with the given cells."""

    def read(page: Path, header: str) -> list[list[str]]:
        lines = page.read_text(encoding="utf-8").splitlines()
        start = next(n for n, line in enumerate(lines) if line.startswith(header))
        rows: list[list[str]] = []
        for line in lines[start + 2 :]:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        return rows

    return read


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """For processes that import from ``tmp_path``."""
    return os.environ | {"PYTHONPATH": path_with(tmp_path)}


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def docs() -> Path:
    return DOCS


@pytest.fixture
def examples() -> Path:
    return EXAMPLES


@pytest.fixture
def page_blocks() -> Callable[[Path], list[Block]]:
    return blocks
