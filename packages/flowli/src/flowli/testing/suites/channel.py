"""``ChannelSuite``: the contract of ``flowli.domain.ports.Channel`` as tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from flowli.domain.channels import Message, WaitMarker, scoped_channel
from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.testing.suites.port_suite import PortSuite, by, new_eid

__all__ = ["ChannelSuite"]


def _message(payload: Data = None, channel: str = "orders", message_id: str = "m-1") -> Message:
    return Message(message_id, channel, payload, by(), correlation="c-1")


def _payloads(messages: Sequence[Message]) -> list[Data]:
    return [message.payload for message in messages]


def _marker(epoch: int, eid: Eid, channel: str = "orders", *fids: str) -> WaitMarker:
    return WaitMarker(channel, eid, epoch, fids or ("root/receive#1",), "finance", 7)


class ChannelSuite(PortSuite):
    """Messages in one order; markers of the highest epoch; the hand-shake between them."""

    async def test_a_channel_to_which_nothing_was_sent(self, ports: Ports) -> None:
        found = await ports.channel.read("orders")
        assert (found.messages, found.position) == ((), START)
        assert await ports.channel.end("orders") == START

    async def test_messages_come_back_in_order_and_equal(self, ports: Ports) -> None:
        """WAI-2."""
        sent = [await ports.channel.send(_message({"n": [n, None, "ü"]}, message_id=f"m-{n}")) for n in range(5)]
        assert [message.seq for message in sent] == [1, 2, 3, 4, 5]
        found = await ports.channel.read("orders")
        assert list(found.messages) == sent
        plain = [replace(message, seq=0, commit=0) for message in found.messages]
        assert plain == [_message({"n": [n, None, "ü"]}, message_id=f"m-{n}") for n in range(5)]

    async def test_a_read_goes_on_after_a_position(self, ports: Ports) -> None:
        await ports.channel.send(_message("a"))
        first = await ports.channel.read("orders")
        await ports.channel.send(_message("b"))
        second = await ports.channel.read("orders", after=first.position)
        assert [(message.seq, message.payload) for message in second.messages] == [(2, "b")]
        third = await ports.channel.read("orders", after=second.position)
        assert (third.messages, third.position) == ((), second.position)

    async def test_a_read_with_a_limit_ends_early_and_says_where(self, ports: Ports) -> None:
        for n in range(5):
            await ports.channel.send(_message(n))
        found = await ports.channel.read("orders", limit=1)
        assert _payloads(found.messages) == [0]
        assert found.position < await ports.channel.end("orders")
        rest = await ports.channel.read("orders", after=found.position)
        assert _payloads(rest.messages) == [1, 2, 3, 4]
        assert (await ports.channel.read("orders", after=rest.position, limit=1)).messages == ()

    async def test_the_end_is_where_the_next_message_comes(self, ports: Ports) -> None:
        await ports.channel.send(_message("a"))
        end = await ports.channel.end("orders")
        assert end == (await ports.channel.read("orders")).position
        await ports.channel.send(_message("b"))
        assert _payloads((await ports.channel.read("orders", after=end)).messages) == ["b"]

    async def test_a_read_can_begin_with_the_commit_of_a_message(self, ports: Ports) -> None:
        sent = [await ports.channel.send(_message(n)) for n in range(4)]
        for message in sent:
            assert message.commit > 0
            found = await ports.channel.read("orders", after=Position(message.commit - 1, message.seq - 1))
            assert found.messages[0] == message

    async def test_concurrent_sends_are_all_there_once(self, ports: Ports) -> None:
        sent = await asyncio.gather(*(ports.channel.send(_message(n, message_id=f"m-{n}")) for n in range(24)))
        found = await ports.channel.read("orders")
        assert [message.seq for message in found.messages] == list(range(1, 25))
        assert sorted(sent, key=lambda message: message.seq) == list(found.messages)
        assert [message.payload for message in sent] == list(range(24))

    async def test_a_repeated_id_is_kept_for_the_readers_fold(self, ports: Ports) -> None:
        await ports.channel.send(_message("once"))
        await ports.channel.send(_message("once"))
        assert _payloads((await ports.channel.read("orders")).messages) == ["once", "once"]

    async def test_channels_do_not_touch_each_other(self, ports: Ports) -> None:
        one, other = new_eid(), new_eid()
        names = ["orders", "orders-2", "Orders", scoped_channel(one, "orders"), scoped_channel(other, "orders")]
        for name in names:
            await ports.channel.send(_message(name, name))
        for name in names:
            assert _payloads((await ports.channel.read(name)).messages) == [name]

    async def test_markers_come_back_equal(self, ports: Ports) -> None:
        marker = _marker(3, new_eid(), "orders", "root/receive#1", "root/receive:k")
        assert await ports.channel.marker("orders", marker.eid) is None
        assert await ports.channel.mark(marker)
        assert await ports.channel.marker("orders", marker.eid) == marker

    async def test_a_marker_is_replaced_by_its_own_and_by_a_higher_epoch(self, ports: Ports) -> None:
        eid = new_eid()
        for marker in (_marker(1, eid), _marker(1, eid, "orders", "root/other#1"), _marker(2, eid)):
            assert await ports.channel.mark(marker)
            assert await ports.channel.marker("orders", eid) == marker

    async def test_a_marker_of_a_lower_epoch_changes_nothing(self, ports: Ports) -> None:
        eid = new_eid()
        assert await ports.channel.mark(_marker(2, eid))
        assert not await ports.channel.mark(_marker(1, eid, "orders", "root/other#1"))
        assert await ports.channel.marker("orders", eid) == _marker(2, eid)

    async def test_marking_the_same_twice_is_no_refusal(self, ports: Ports) -> None:
        eid = new_eid()
        assert await ports.channel.mark(_marker(1, eid))
        assert await ports.channel.mark(_marker(1, eid))

    async def test_of_markers_that_race_the_highest_epoch_stands(self, ports: Ports) -> None:
        eid = new_eid()
        epochs = [3, 1, 7, 2, 6, 5, 4, 8]
        done = await asyncio.gather(*(ports.channel.mark(_marker(epoch, eid)) for epoch in epochs))
        assert done[epochs.index(8)]
        assert await ports.channel.marker("orders", eid) == _marker(8, eid)

    async def test_unmark_removes_only_up_to_an_epoch(self, ports: Ports) -> None:
        eid = new_eid()
        await ports.channel.mark(_marker(3, eid))
        assert not await ports.channel.unmark("orders", eid, up_to_epoch=2)
        assert await ports.channel.marker("orders", eid) == _marker(3, eid)
        assert await ports.channel.unmark("orders", eid, up_to_epoch=3)
        assert await ports.channel.marker("orders", eid) is None
        assert not await ports.channel.unmark("orders", eid, up_to_epoch=3)

    async def test_a_removed_marker_can_be_written_again(self, ports: Ports) -> None:
        eid = new_eid()
        for epoch in (1, 1, 2):
            assert await ports.channel.mark(_marker(epoch, eid))
            assert await ports.channel.unmark("orders", eid, up_to_epoch=epoch)

    async def test_a_marker_is_not_removed_by_who_races_with_a_higher_epoch(self, ports: Ports) -> None:
        for _ in range(10):
            eid = new_eid()
            await ports.channel.mark(_marker(1, eid))
            await asyncio.gather(
                ports.channel.unmark("orders", eid, up_to_epoch=1), ports.channel.mark(_marker(2, eid))
            )
            assert await ports.channel.marker("orders", eid) == _marker(2, eid)

    async def test_all_markers_of_a_channel_by_eid(self, ports: Ports) -> None:
        markers = [_marker(n, new_eid()) for n in range(1, 6)]
        for marker in reversed(markers):
            await ports.channel.mark(marker)
        await ports.channel.mark(_marker(1, new_eid(), "other"))
        assert list(await ports.channel.markers("orders")) == sorted(markers, key=lambda marker: marker.eid)
        assert list(await ports.channel.markers("nobody")) == []

    async def test_sender_or_receiver_sees_the_other(self, ports: Ports) -> None:
        """WAI-5."""
        for n in range(20):
            channel, eid = f"orders-{n}", new_eid()

            async def send(channel: str = channel, eid: Eid = eid) -> bool:
                await ports.channel.send(_message("hello", channel))
                return await ports.channel.marker(channel, eid) is not None

            async def receive(channel: str = channel, eid: Eid = eid) -> bool:
                await ports.channel.mark(_marker(1, eid, channel))
                return bool((await ports.channel.read(channel)).messages)

            assert any(await asyncio.gather(send(), receive()))

    async def test_delete_removes_messages_and_markers(self, ports: Ports) -> None:
        eid = new_eid()
        for channel in ("orders", "other"):
            await ports.channel.send(_message(channel, channel))
            await ports.channel.mark(_marker(1, eid, channel))
        await ports.channel.delete("orders")
        await ports.channel.delete("orders")
        assert (await ports.channel.read("orders")).messages == ()
        assert await ports.channel.marker("orders", eid) is None
        assert _payloads((await ports.channel.read("other")).messages) == ["other"]
        assert await ports.channel.marker("other", eid) is not None

    async def test_a_redacted_message_keeps_its_place_and_loses_its_payload(self, ports: Ports) -> None:
        sent = [await ports.channel.send(_message(f"secret {n}", message_id=f"m-{n}")) for n in range(3)]
        await ports.channel.redact(sent[1])
        await ports.channel.redact(sent[1])
        found = (await ports.channel.read("orders")).messages
        assert list(found) == [sent[0], replace(sent[1], payload=None), sent[2]]
        await ports.channel.redact(replace(sent[2], seq=9, commit=9, id="m-9"))
        assert (await ports.channel.read("orders")).messages == found

    async def test_readers_of_a_trimmed_channel_begin_with_what_is_left(self, ports: Ports) -> None:
        sent = [await ports.channel.send(_message(n, message_id=f"m-{n}")) for n in range(5)]
        place = Position(sent[2].commit, sent[2].seq)
        assert await ports.channel.trim("orders", place) == place
        assert await ports.channel.trim("orders", Position(sent[0].commit, sent[0].seq)) == place
        await ports.channel.drop("orders", place)
        assert list((await ports.channel.read("orders")).messages) == sent[3:]
        assert list((await ports.channel.read("orders", after=place)).messages) == sent[3:]
        assert (await ports.channel.send(_message("next"))).seq == 6

    async def test_all_channels_of_an_execution_are_deleted_and_no_others(self, ports: Ports) -> None:
        eid, other = new_eid(), new_eid()
        names = [scoped_channel(eid, "a"), scoped_channel(eid, "b"), scoped_channel(other, "a"), "orders"]
        for name in names:
            await ports.channel.send(_message(name, name))
            await ports.channel.mark(_marker(1, eid, name))
        await ports.channel.delete_own(eid)
        await ports.channel.delete_own(eid)
        left = [name for name in names if (await ports.channel.read(name)).messages]
        assert left == [scoped_channel(other, "a"), "orders"]
        marked = [name for name in names if await ports.channel.marker(name, eid) is not None]
        assert marked == left
