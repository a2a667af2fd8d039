"""Clean-room checks. Daily work is ``hatch run``; Pythons and test dependencies are read from hatch.toml."""

from pathlib import Path

import nox

nox.needs_version = ">=2026.1"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"
nox.options.sessions = ["tests", "isolated", "build", "hatch"]

ENVS = nox.project.load_toml("hatch.toml")["envs"]
PYTHONS = ENVS["matrix"]["matrix"][0]["python"]
TEST = ENVS["default"]["dependencies"]
DISTS = sorted(path.parent.name for path in Path("packages").glob("*/pyproject.toml"))
EXAMPLES = sorted(path.parent.name for path in Path("docs/examples").glob("flowli-*/pyproject.toml"))
WHEELS = Path(".nox/wheels").resolve()
OURS_ONLY = f"""
from importlib.metadata import distributions
origins = {{dist.name: dist.read_text("direct_url.json") or "" for dist in distributions() if "flowli" in dist.name}}
foreign = [name for name, origin in origins.items() if {WHEELS.as_uri()!r} not in origin]
assert origins and not foreign, f"not from this workspace: {{foreign}}"
"""


def wheels(session: nox.Session, dists: list[str]) -> list[str]:
    """Build ``dists``, each wheel from its sdist, and return the paths of the wheels."""
    session.install("uv")
    for dist in dists:
        source = f"docs/examples/{dist}" if dist in EXAMPLES else f"packages/{dist}"
        session.run("uv", "build", "--quiet", "--out-dir", str(WHEELS), source)
    return [str(max(WHEELS.glob(f"{dist.replace('-', '_')}-*.whl"))) for dist in dists]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Everything, from the checkout, on each Python that this machine has."""
    session.install(*TEST, *(argument for dist in DISTS for argument in ("-e", f"packages/{dist}")))
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(python=PYTHONS[0])
@nox.parametrize("dist", [*DISTS, *EXAMPLES], ids=[*DISTS, *EXAMPLES])
def isolated(session: nox.Session, dist: str) -> None:
    """One distribution: its wheel, the core's and its own tests; no other distribution of ours."""
    built = wheels(session, sorted({"flowli", dist}))
    if dist in EXAMPLES:  # as a stranger has it: nothing but what it asks for, and its own configuration of pytest
        session.install("pytest", "pytest-asyncio", *built)
        options = ["-c", f"docs/examples/{dist}/pyproject.toml", f"docs/examples/{dist}/tests"]
    else:
        session.install(*TEST, *built)
        options = ["-n", "2", "-o", "pythonpath=", f"packages/{dist}/tests"]
    session.run("python", "-c", OURS_ONLY, silent=True)
    session.run("pytest", *options, *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def mutations(session: nox.Session) -> None:
    """Known bugs, planted one at a time: the simulator must find each within 20 s."""
    session.install(*TEST, "-e", "packages/flowli")
    options = ["--import-mode=importlib", "-o", "pythonpath=tests/mutations"]
    session.run("pytest", *options, "tests/mutations/check_mutations.py", *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def bench(session: nox.Session) -> None:
    """Concurrency 100 against concurrency 1; lists of a million entries. Wants a machine with nothing else to do."""
    session.install(*TEST, "-e", "packages/flowli")
    session.run("pytest", "--import-mode=importlib", "tests/bench/check_concurrency.py", *session.posargs)
    options = ["--import-mode=importlib", "-o", "pythonpath=tests/bench"]
    session.run("pytest", *options, "tests/bench/check_projection.py", *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def peers(session: nox.Session) -> None:
    """The same workflows here and on other embedded engines, in turn; wants a machine with nothing else to do."""
    session.install("dbos", "unhinged", "./packages/flowli")
    session.run("python", "tests/bench/peers/compare.py", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Every sdist and wheel, checked as a package index would."""
    session.install("twine")
    wheels(session, DISTS)
    session.run("twine", "check", "--strict", *map(str, sorted(WHEELS.glob("flowli*"))))


@nox.session(venv_backend="none")
@nox.parametrize("script", ["check:lint", "check:types", "docs:build"], ids=["lint", "types", "docs"])
def hatch(session: nox.Session, script: str) -> None:
    """The scripts of hatch.toml, so that one tool runs everything."""
    session.run("hatch", "run", script, external=True)
