from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from flowli.domain.channels import Message
from flowli.domain.control_entries import ControlEntry, ExecutionArchived
from flowli.domain.data import Data
from flowli.domain.ids import Eid
from flowli.domain.ports import Holder, LeaseRequest
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.timers import Timer
from flowli.testing.suites.port_suite import T0, by, new_eid

__all__ = ["NOW", "control_entry", "holder", "message", "request", "task", "timer"]

NOW = T0


def task(key: str = "k", *, at_s: float = 0.0, eid: Eid | None = None, delay_s: float | None = None) -> Task:
    cause_at = T0 + timedelta(seconds=at_s)
    not_before = None if delay_s is None else T0 + timedelta(seconds=delay_s)
    return Task("finance", TaskKind.RESUME, eid or new_eid(), cause_at, by(), key, "message", not_before)


def timer(due_s: float, fid: str = "root/sleep#1", eid: Eid | None = None) -> Timer:
    return Timer(T0 + timedelta(seconds=due_s), eid or new_eid(), fid)


def message(channel: str = "payments", payload: Data = None) -> Message:
    return Message("m-1", channel, payload, by())


def holder(name: str = "w-1") -> Holder:
    return Holder(name, Site(name, "host", 1))


def request(request_id: str) -> LeaseRequest:
    return LeaseRequest(request_id, "wake", Provenance(Actor(ActorKind.SYSTEM, "x"), Site("w-9"), T0))


def control_entry(eid: Eid | None = None) -> ControlEntry:
    return ControlEntry(ExecutionArchived(eid or new_eid()), replace(by(), attempt=0))
