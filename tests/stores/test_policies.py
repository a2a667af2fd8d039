"""Least rights: what each process needs, what the policies of the guides grant, and what the doctor says of both."""

import json
import re
from pathlib import Path

import pytest

from flowli import CairnBackend, Consumer, Engine, Site
from flowli.cairn.observe import observed
from flowli.cli.doctor.check import Level, Patient, Wishes
from flowli.cli.doctor.checks import examine
from flowli.cli.doctor.render import is_go
from flowli.cli.doctor.rights import NEEDS, RIGHTS
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli.domain.tasks import Task, TaskKind
from flowli.stores.memory import MemoryStore
from flowli.testing.rights import GuardedStore
from flowli.world import SYSTEM

from . import shop

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
TITLED = re.compile(r'^```\w+ title="(.*?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
MEANS = {
    "s3:GetObject": {"get"},
    "s3:ListBucket": {"list"},
    "s3:PutObject": {"create", "replace"},
    "s3:DeleteObject": {"delete"},
    f"{BLOBS}read": {"get", "list"},
    f"{BLOBS}write": {"create", "replace"},
    f"{BLOBS}delete": {"delete"},
    "storage.objects.get": {"get"},
    "storage.objects.list": {"list"},
    "storage.objects.create": {"create"},
    "storage.objects.delete": {"delete"},
}


def actions(name: str, text: str) -> list[str]:
    if name.endswith(".yaml"):
        return re.findall(r"^- (\S+)$", text, re.MULTILINE)
    policy = json.loads(text)
    if "DataActions" in policy:
        return policy["DataActions"]
    listed = [one["Action"] for one in policy["Statement"]]
    return [action for one in listed for action in ([one] if isinstance(one, str) else one)]


def policies() -> list[tuple[str, str, frozenset[str]]]:
    """Cloud, process and rights of every policy in the guides."""
    found = []
    for cloud in ("s3", "azure", "gcs"):
        for title, text in TITLED.findall((HOW_TO / f"{cloud}.md").read_text()):
            rights = {right for action in actions(title.partition(",")[0], text) for right in MEANS[action]}
            if cloud == "gcs" and {"create", "delete"} <= rights:
                rights.add("replace")  # replacing an object takes both there
            for process in re.findall("|".join(NEEDS), title):
                found.append((cloud, process, frozenset(rights)))
    return found


def test_there_is_a_policy_for_each_process_on_each_cloud():
    assert sorted((cloud, process) for cloud, process, _ in policies()) == sorted(
        (cloud, process) for cloud in ("s3", "azure", "gcs") for process in NEEDS
    )


@pytest.mark.parametrize(
    ("cloud", "process", "rights"), policies(), ids=lambda one: one if isinstance(one, str) else ""
)
async def test_the_doctor_is_content_with_a_policy_and_with_nothing_less(cloud, process, rights):
    async def is_content(granted: frozenset[str]) -> bool:
        requests = []
        store = observed(GuardedStore(MemoryStore(), granted), requests.append)
        found = await examine(Patient(store, SYSTEM, Wishes(process, samples=1), requests))
        return is_go(found)

    assert await is_content(rights)
    extra = rights - NEEDS[process]
    assert extra == ({"delete"} if (cloud, process) == ("gcs", "service") else set()), "no more than is needed"
    for right in NEEDS[process]:
        assert not await is_content(rights - {right})


async def test_the_doctor_names_what_every_process_lacks():
    requests = []
    store = observed(GuardedStore(MemoryStore(), {"list", "get"}), requests.append)
    found = await examine(Patient(store, SYSTEM, Wishes("service"), requests))
    (bad,) = [one for one in found if one.level is Level.BAD]
    assert bad.text == "A service lacks create. Grant create."


def test_the_guide_prints_the_table_of_rights():
    text = (HOW_TO / "buckets.md").read_text().partition("| process (`--for`) |")[2]
    printed = {}
    for line in text.partition("\n\n")[0].splitlines()[2:]:
        who, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for process in re.findall(r"`(\w+)`", who.partition(":")[0]):
            printed[process] = {right for right, cell in zip(RIGHTS, cells, strict=True) if cell}
    assert printed == {process: set(needs) for process, needs in NEEDS.items()}


class Shared:
    """One bucket, and a guarded way into it for each process."""

    def __init__(self) -> None:
        self.name = SYSTEM.token()
        self.stores = {process: GuardedStore(MemoryStore(self.name), needs) for process, needs in NEEDS.items()}

    def engine(self, process: str) -> Engine:
        backend = CairnBackend(self.stores[process])
        return Engine(backend.ports, Site.local(process), registry=shop.registry)


async def test_each_process_works_with_its_rights():
    site = Shared()
    worker, service, reader = (site.engine(name) for name in ("worker", "service", "reader"))
    sweeper, backend = site.engine("sweeper"), CairnBackend(site.stores["consumer"])
    await worker.ports.control.read(limit=1)  # the first process tries the bucket out

    eid = await service.start(shop.fulfil, "a", key="k")
    assert await service.start(shop.fulfil, "a", key="k") == eid
    waiting = await service.start(shop.parcel, "b")
    napping = await service.start(shop.nap, "c", 0.01)
    await worker.worker().run_until_idle()
    await service.signal(waiting, "arrived", "today")
    await SYSTEM.sleep(0.02)
    await sweeper.sweeper().sweep_once()
    await worker.worker().run_until_idle()
    assert await service.result(eid, timeout=300) == [f"a-{number}" for number in range(1, 6)]
    assert await service.result(waiting, timeout=300) == "b-1 today"
    assert await reader.result(napping, timeout=300) == "c-1"
    assert (await reader.status(eid)).status.value == "completed"

    payload = {"payload": "paint", "reply_to": {"eid": str(waiting), "channel": "reply"}}
    by = Provenance(Actor(ActorKind.SYSTEM, "test"), Site.local("worker"), SYSTEM.now())
    await worker.ports.queue.enqueue(
        Task("agents", TaskKind.DELEGATE, waiting, SYSTEM.now(), by, key="d1", payload=payload)
    )

    async def paint(delegate):
        return "painted"

    assert await Consumer(backend.ports, "agents", paint, site=Site.local("consumer")).run_once() == 1
    await sweeper.retention(0).run_once()
    for process in ("worker", "sweeper", "service", "consumer", "reader"):
        assert site.stores[process].used <= NEEDS[process]
    for process in ("worker", "consumer"):
        assert site.stores[process].used == NEEDS[process], process
