"""``flowli doctor`` on real protocols: a go on each store, a no-go with one sentence for whatever is wrong."""

import json

import pytest
from click.testing import CliRunner

from flowli.cli import main
from flowli.stores import open_store

from .conftest import Gate
from .emulators.answers import always, answer, for_some, ignoring_conditions, writes
from .emulators.azurite import sas_token
from .emulators.process import free_port
from .emulators.proxy import Asked
from .emulators.service import BUCKET

NO_GO = 3


def doctor(url: str, *options: str, code: int = 0) -> dict[str, object]:
    arguments = ["doctor", "--storage", url, "--samples", "2", "--racers", "4", "--json", *options]
    done = CliRunner().invoke(main.flowli, arguments, prog_name="flowli")
    assert done.exit_code == code, done.output
    if code:
        (line,) = done.stderr.splitlines()
        assert json.loads(line)["error"]["exit_code"] == code
    return json.loads(done.stdout)


def bad(told: dict[str, object]) -> list[str]:
    findings = told["findings"]
    assert isinstance(findings, list)
    return [one["text"] for one in findings if one["level"] == "bad"]


def test_every_store_is_a_go(url: str):
    if url.startswith("file:"):
        open_store(url)  # makes the folder
    told = doctor(url)
    assert told["go"]
    findings = told["findings"]
    assert isinstance(findings, list)
    probes = {one["probe"] for one in findings if "probe" in one}
    assert {"put-if-absent", "stale compare-and-swap", "stale delete", "race of swaps", "race of deletes"} <= probes
    assert {"order", "list-after-write", "read-after-write", "long key"} <= probes
    (dollars,) = [one["dollars"] for one in findings if one["check"] == "bill"]
    assert (dollars is None) == url.startswith(("file:", "memory:"))


def test_a_store_that_ignores_conditions_is_a_no_go_by_name(gate: Gate, monkeypatch):
    if gate.service.scheme == "az":
        monkeypatch.delenv("AZURE_STORAGE_KEY")
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", sas_token())
    gate.proxy.rule = ignoring_conditions(writes)
    (sentence,) = bad(doctor(gate.url(), code=NO_GO))
    assert "fails the check 'put-if-absent'" in sentence


def is_delete(asked: Asked) -> bool:
    return asked.method == "DELETE"


def test_a_right_that_is_missing_is_named_as_the_cloud_names_it(gate: Gate):
    gate.proxy.rule = for_some(is_delete, always(answer(gate.service.scheme, "denied")))
    (sentence,) = bad(doctor(gate.url(), code=NO_GO))
    named = {"s3": "s3:DeleteObject", "az": "right to delete blobs", "gs": "storage.objects.delete"}
    assert "A worker lacks delete." in sentence
    assert named[gate.service.scheme] in sentence
    assert doctor(gate.url(), "--for", "service")["go"]


@pytest.mark.parametrize("kind", ["expired", "denied"])
def test_who_is_not_let_in_gets_one_sentence(gate: Gate, kind: str):
    gate.proxy.rule = always(answer(gate.service.scheme, kind))
    assert len(bad(doctor(gate.url(), code=NO_GO))) == 1


def test_a_missing_bucket_and_a_wrong_address_are_no_gos(gate: Gate):
    (sentence,) = bad(doctor(gate.url().replace(BUCKET, "no-such-bucket", 1), code=NO_GO))
    assert "There is no " in sentence
    (sentence,) = bad(doctor(gate.service.url("x", origin=f"http://127.0.0.1:{free_port()}"), code=NO_GO))
    assert "cannot be reached" in sentence
