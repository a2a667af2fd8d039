"""The pages about the three clouds: what they run runs, what they list is all there is, what they grant suffices."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from flowli import CairnBackend, Engine, Site
from flowli.domain.errors import BackendRefused
from flowli.world import SYSTEM
from flowli_cairn_azure.config import AzureConfig
from flowli_cairn_gcs.config import GcsConfig
from flowli_cairn_s3.config import S3Config

from . import shop
from .conftest import Gate
from .emulators.answers import answer
from .emulators.proxy import Answer, Asked, Forward

ROOT = Path(__file__).parents[2]
PAGES = {"s3": ("s3", S3Config), "az": ("azure", AzureConfig), "gs": ("gcs", GcsConfig)}
BLOCK = re.compile(r"^```(\w+).*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text()) if kind == language]


@pytest.mark.parametrize("service", PAGES, indirect=True)
def test_the_program_of_the_guide_runs(service, monkeypatch, capsys):
    monkeypatch.setenv("FLOWLI_STORAGE", service.url(SYSTEM.token()))
    (program,) = blocks(ROOT / f"docs/how-to/{PAGES[service.scheme][0]}.md", "python")
    exec(compile(program, "page", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == "receipt of A-1\n"


def test_the_program_that_counts_requests_runs(capsys):
    (program,) = blocks(ROOT / "docs/how-to/buckets.md", "python")
    exec(compile(program, "page", "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out
    assert "put lost " in printed
    assert "throttled: 0" in printed


@pytest.mark.parametrize("scheme", PAGES)
def test_the_readme_opens_buckets_and_lists_every_setting(scheme):
    name, config = PAGES[scheme]
    readme = ROOT / f"packages/flowli-cairn-{name}/README.md"
    for program in blocks(readme, "python"):
        namespace: dict[str, object] = {}
        exec(compile(program, "README", "exec"), namespace)
        assert isinstance(namespace["backend"], CairnBackend)
    listed = re.findall(r"^\| `(\w+)` \|", readme.read_text(), re.MULTILINE)
    assert listed == [one.name for one in fields(config)][1:]


def rights(asked: Asked) -> str:
    """The right that S3 asks for a request."""
    if asked.method == "GET":
        return "s3:ListBucket" if "list-type=2" in asked.query else "s3:GetObject"
    return "s3:PutObject" if asked.method == "PUT" else "s3:DeleteObject"


def granted(path: Path, number: int = 0) -> set[str]:
    """The rights in one of the policies of a page."""
    policy = blocks(path, "json")[number]
    actions = [one["Action"] for one in json.loads(policy)["Statement"]]
    return {action for one in actions for action in ([one] if isinstance(one, str) else one)}


WORKER = granted(ROOT / "packages/flowli-cairn-s3/README.md")
assert granted(ROOT / "docs/how-to/s3.md") == WORKER
SERVICE = granted(ROOT / "docs/how-to/s3.md", 1)
READER = granted(ROOT / "docs/how-to/s3.md", 2)


class Guard:
    """Denies what is not granted."""

    def __init__(self, actions: set[str]) -> None:
        self._actions = actions
        self.used: set[str] = set()

    def rule(self, asked: Asked, forward: Forward) -> Answer:
        if rights(asked) not in self._actions:
            return answer("s3", "denied")
        self.used.add(rights(asked))
        return forward(asked)


def engine_on(backend: CairnBackend) -> Engine:
    return Engine(backend.ports, Site.local("w"), registry=shop.registry)


async def test_each_process_gets_by_with_the_rights_of_its_policy(s3_gate: Gate):
    """A worker lays the bucket out and works; a service starts and waits; a reader looks."""
    url = s3_gate.url()
    guards = [Guard(WORKER), Guard(SERVICE), Guard(READER)]

    s3_gate.proxy.rule = guards[0].rule
    async with CairnBackend.open(url) as backend:
        await backend.check()

    s3_gate.proxy.rule = guards[1].rule
    async with CairnBackend.open(url) as backend:
        eid = await engine_on(backend).start(shop.fulfil, "a", key="k")
        await engine_on(backend).signal(eid, "news", {"n": 1})

    s3_gate.proxy.rule = guards[0].rule
    async with CairnBackend.open(url) as backend:
        await engine_on(backend).worker().run_until_idle()
        await engine_on(backend).sweeper().sweep_once()

    s3_gate.proxy.rule = guards[2].rule
    async with CairnBackend.open(url) as backend:
        assert (await engine_on(backend).result(eid, timeout=300))[0] == "a-1"
        assert (await engine_on(backend).status(eid)).status.value == "completed"
        with pytest.raises(BackendRefused, match="Grant s3:PutObject"):
            await engine_on(backend).start(shop.fulfil, "b")

    assert guards[0].used == WORKER == {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}
    assert guards[2].used <= READER
