"""Whatever is wrong with a bucket, the command says it in one sentence and ends with its code, within ten seconds.

How long it takes is computed where the service answers: one to three requests, none of which waits, and the pauses
between them. Where it never answers the bound is a setting, and one test sees that nothing is waited for beyond it.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from flowli.cli import main
from flowli.world import SystemWorld
from flowli_cairn_azure.config import AzureConfig
from flowli_cairn_gcs.config import GcsConfig
from flowli_cairn_s3.config import S3Config

from .conftest import Gate
from .emulators.answers import always, answer
from .emulators.process import free_port
from .emulators.proxy import Answer
from .emulators.service import BUCKET

LIMIT_S = 10.0
STALL_S = 300.0
"""For how long the host of the tests may stand still; the time-outs that must not be waited for are longer."""
STORAGE, USAGE = 3, 2
NOT_A_STORE = Answer(404, (("Content-Type", "text/html"),), b"<html><body>Not here</body></html>")
SOMETHING_ELSE = Answer(200, (("Content-Type", "text/html"),), b"<html><body>Welcome</body></html>")


@dataclass
class Said:
    code: int
    sentence: str


@pytest.fixture
def complain(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Said]:
    """Run ``flowli list`` on a storage; it must fail, in one line and hardly with a pause."""
    for name in list(os.environ):
        if name.startswith("FLOWLI"):
            monkeypatch.delenv(name)
    sleep, pauses, here = SystemWorld.sleep, [], threading.get_ident()

    async def noted(world: SystemWorld, seconds: float) -> None:
        if threading.get_ident() == here:  # and not what an engine of an earlier test does in a thread of its own
            pauses.append(seconds)
        await sleep(world, seconds)

    monkeypatch.setattr(SystemWorld, "sleep", noted)

    def run(url: str) -> Said:
        pauses.clear()
        done = CliRunner().invoke(main.flowli, ["list", "--storage", url], prog_name="flowli")
        assert sum(pauses) < LIMIT_S / 10
        assert done.exit_code in (STORAGE, USAGE), done.output
        (line,) = done.stderr.splitlines()
        return Said(done.exit_code, line)

    return run


@pytest.fixture
def silent() -> Iterator[str]:
    """Accepts connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_bucket_that_does_not_exist(gate: Gate, complain):
    said = complain(gate.url().replace(BUCKET, "no-such-bucket", 1))
    assert said.code == STORAGE
    assert len(gate.proxy.asked) <= 10, "the emulator of Google takes an absent bucket for an absent key at first"
    assert "There is no " in said.sentence
    assert "no-such-bucket" in said.sentence
    assert said.sentence.endswith("Create it, or correct the storage URL.")


def test_an_endpoint_where_nobody_listens(gate: Gate, complain):
    said = complain(gate.service.url("x", origin=f"http://127.0.0.1:{free_port()}"))
    assert said.code == STORAGE
    assert "cannot be reached" in said.sentence


def test_a_host_that_does_not_exist(gate: Gate, complain):
    said = complain(gate.service.url("x", origin="http://nowhere.invalid"))
    assert said.code == STORAGE
    assert "cannot be reached" in said.sentence
    assert "nowhere.invalid" in said.sentence


@pytest.mark.parametrize(
    "config", [S3Config("bucket"), AzureConfig("container"), GcsConfig("bucket")], ids=["s3", "az", "gs"]
)
def test_the_settings_give_up_in_time(config):
    """A first request that is not answered is not sent again, so that its bound is that of the command."""
    assert config.first_timeout_s < LIMIT_S
    assert max(config.connect_timeout_s, config.read_timeout_s) <= config.first_timeout_s, "nor is a thread left over"


@pytest.mark.parametrize("bound", ["first_timeout_s=1&read_timeout_s=900", "first_timeout_s=900&read_timeout_s=1"])
def test_an_endpoint_that_never_answers(gate: Gate, complain, silent, bound):
    begun = time.monotonic()
    said = complain(f"{gate.service.url('x', origin=silent)}&{bound}")
    assert time.monotonic() - begun < STALL_S
    assert said.code == STORAGE
    assert "gave no answer in time" in said.sentence


@pytest.mark.parametrize("page", [NOT_A_STORE, SOMETHING_ELSE], ids=["404", "200"])
def test_an_endpoint_that_is_no_object_storage(gate: Gate, complain, page):
    gate.proxy.rule = always(page)
    complain(gate.url())


def test_an_endpoint_that_hangs_up(gate: Gate, complain):
    gate.proxy.rule = always(None)
    said = complain(gate.url())
    assert said.code == STORAGE
    assert len(gate.proxy.asked) == 3
    assert "no whole answer" in said.sentence


def test_a_right_that_is_missing(gate: Gate, complain):
    gate.proxy.rule = always(answer(gate.service.scheme, "denied"))
    said = complain(gate.url())
    assert said.code == STORAGE
    assert len(gate.proxy.asked) == 1
    assert "does not allow a get" in said.sentence
    assert "Grant " in said.sentence


def test_credentials_that_have_expired(gate: Gate, complain):
    gate.proxy.rule = always(answer(gate.service.scheme, "expired"))
    said = complain(gate.url())
    assert said.code == STORAGE
    assert len(gate.proxy.asked) <= 2, "and once more with credentials looked up anew"
    wanted = {"s3": "have expired", "az": "or they have expired", "gs": "wants credentials"}
    assert wanted[gate.service.scheme] in said.sentence


@pytest.mark.parametrize("service", ["s3", "az"], indirect=True)
def test_a_clock_that_is_wrong(gate: Gate, complain):
    gate.proxy.rule = always(answer(gate.service.scheme, "skewed"))
    said = complain(gate.url())
    assert said.code == STORAGE
    assert len(gate.proxy.asked) <= 2
    assert "Set the clock" in said.sentence


@pytest.mark.parametrize("service", ["s3"], indirect=True)
def test_a_region_that_is_none_or_not_that_of_the_bucket(gate: Gate, complain):
    said = complain(gate.url().replace("region=us-east-1", "region=not/a/region"))
    assert "not/a/region" in said.sentence
    body = b"<Error><Code>IllegalLocationConstraintException</Code><Message>Elsewhere</Message></Error>"
    gate.proxy.rule = always(Answer(400, (("Content-Type", "application/xml"),), body))
    said = complain(gate.url())
    assert said.code in (STORAGE, USAGE)
    assert "is not in the region asked" in said.sentence
    assert "Set region in the storage URL" in said.sentence


URLS_OF_THE_CLOUDS = {
    "s3": "s3://flowli-tests?region=us-east-1",
    "az": "az://flowli-tests?account=flowlitests",
    "gs": "gs://flowli-tests",
}


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """A host without credentials of any kind, and without the network that would give it some."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR_HOST", "CLOUDSDK")):
            monkeypatch.delenv(name)
    for name in ("HOME", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("url", URLS_OF_THE_CLOUDS.values(), ids=URLS_OF_THE_CLOUDS)
def test_no_credentials_at_all(complain, nobody, url):
    said = complain(url)
    assert said.code == STORAGE
    assert "There are no credentials" in said.sentence or "gave no answer in time" in said.sentence


@pytest.mark.parametrize("service", ["s3"], indirect=True)
def test_a_process_of_its_own_ends_too(gate: Gate):
    url = gate.service.url("x", origin=f"http://127.0.0.1:{free_port()}")
    done = subprocess.run(
        [sys.executable, "-m", "flowli.cli", "list", "--storage", url],
        capture_output=True,
        text=True,
        timeout=STALL_S,
        check=False,
    )
    assert done.returncode == STORAGE
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be reached" in done.stderr
