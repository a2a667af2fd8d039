"""Databases for the tests: SQLite always, PostgreSQL where its programs and a driver are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import pytest

collect_ignore_glob = [] if find_spec("sqlalchemy") else ["test_*.py"]


def programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``."""
    found = shutil.which("initdb")
    return Path(found).parent if found and shutil.which("pg_ctl") else None


def account() -> str | None:
    """Under which account PostgreSQL can run here: never root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no account 'postgres'")


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """URL of a PostgreSQL that lives as long as the tests, reached by a socket in a folder of its own."""
    where = programs()
    if where is None or not find_spec("psycopg"):
        pytest.skip("PostgreSQL or psycopg is not installed")
    user, folder = account(), Path(mkdtemp(prefix="flowli-pg-", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"

    def pg(*command: str) -> None:
        done = subprocess.run(
            [str(where / command[0]), *command[1:]],
            user=user,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr or log.read_text()

    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    try:
        pg("initdb", "-D", str(data), "-U", "flowli", "-A", "trust", "--no-sync", "-E", "UTF8")
        pg("pg_ctl", "-D", str(data), "-l", str(log), "-w", "-t", "120", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://flowli@/postgres?host={folder}"
        finally:
            pg("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database that is empty: of SQLite or of PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/host.db"
        return
    from sqlalchemy import create_engine, text

    whole = request.getfixturevalue("cluster")
    database = create_engine(whole, isolation_level="AUTOCOMMIT")
    with database.connect() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    database.dispose()
    yield whole
