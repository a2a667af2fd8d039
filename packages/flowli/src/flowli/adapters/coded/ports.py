"""``coded``: the ports of any backend, with the values in them protected on their way."""

from __future__ import annotations

from dataclasses import replace

from flowli.adapters.coded.archive import CodedArchive
from flowli.adapters.coded.channel import CodedChannel
from flowli.adapters.coded.codec import ValueCodec
from flowli.adapters.coded.control import CodedControlLog
from flowli.adapters.coded.dispatch import CodedDispatch
from flowli.adapters.coded.evidence import CodedEvidence
from flowli.adapters.coded.executions import CodedExecutionStore
from flowli.adapters.coded.journal import CodedJournal
from flowli.adapters.coded.queue import CodedQueue
from flowli.adapters.coded.values import Values
from flowli.domain.ports import Ports
from flowli.world import SYSTEM, World

__all__ = ["coded"]


def coded(ports: Ports, codec: ValueCodec, *, world: World = SYSTEM) -> Ports:
    """``ports`` whose values go through ``codec``: whoever uses them reads and writes clear values.

    Coded are the arguments, results and errors of executions and of their frames, the payloads of messages and tasks,
    the values of claims, archives and evidence. Clear stay, since they lead the way or are public: names, ids, keys,
    digests of arguments, types of errors, reasons that operators give, attributes, and what workflows announce.

    Args:
        ports: of any backend.
        world: its threads do the work on large values.
    """
    values = Values(codec, ports.evidence, world)
    fork = ports.fork
    return replace(
        ports,
        journal=CodedJournal(ports.journal, values),
        control=CodedControlLog(ports.control, values),
        dispatch=CodedDispatch(ports.dispatch, values),
        queue=CodedQueue(ports.queue, values),
        channel=CodedChannel(ports.channel, values),
        executions=CodedExecutionStore(ports.executions, values),
        archive=CodedArchive(ports.archive, ports.evidence, values),
        evidence=CodedEvidence(ports.evidence, values),
        fork=None if fork is None else lambda: coded(fork(), codec, world=world),
    )
