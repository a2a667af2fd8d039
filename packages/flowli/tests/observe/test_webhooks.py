"""Webhooks: CloudEvents with a signature that the receiver can check."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from flowli.domain.errors import ErrorInfo, NonRetryableError, UsageError
from flowli.domain.ids import Eid
from flowli.runtime.observe.events import Change, ExecutionChanged
from flowli.runtime.observe.subscription import Delivered
from flowli.runtime.observe.webhook import Webhook, WebhookRefused, verify
from flowli.testing.clock import ManualClock, ManualWorld

EID = Eid("0197a1b2-0000-7000-8000-000000000001")
SECRET = "a secret that is long enough"
WORLD = ManualWorld(ManualClock())
FAILED = Delivered(
    17,
    ExecutionChanged(EID, Change.FAILED, WORLD.now(), "greet", "1", "default", 2, 9, error=ErrorInfo("E", "it fell")),
)


class Receiver:
    def __init__(self, status: int = 204) -> None:
        self.status = status
        self.got: list[tuple[str, bytes, dict[str, str]]] = []

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        self.got.append((url, body, dict(headers)))
        return self.status


async def test_a_change_is_posted_as_a_cloud_event() -> None:
    receiver = Receiver()
    await Webhook("https://ops.example/hook", SECRET, source="file:/b", post=receiver.post, world=WORLD)(FAILED)
    ((url, body, headers),) = receiver.got
    assert url == "https://ops.example/hook"
    assert headers["content-type"] == "application/cloudevents+json"
    assert json.loads(body) == {
        "specversion": "1.0",
        "id": f"{EID}/failed/9",
        "source": "file:/b",
        "type": "flowli.execution.failed.v1",
        "subject": str(EID),
        "time": str(WORLD.now()),
        "datacontenttype": "application/json",
        "dataschema": "urn:flowli:execution:v1",
        "data": {
            "eid": str(EID),
            "change": "failed",
            "workflow": "greet",
            "version": "1",
            "queue": "default",
            "epoch": 2,
            "journal_seq": 9,
            "reason": "",
            "error": {"type": "E", "message": "it fell"},
        },
    }


async def test_the_receiver_tells_a_true_request_from_a_changed_a_late_and_a_forged_one() -> None:
    receiver, clock = Receiver(), ManualClock()
    world = ManualWorld(clock)
    await Webhook("https://ops.example/hook", SECRET, post=receiver.post, world=world)(FAILED)
    ((_, body, headers),) = receiver.got
    assert verify(SECRET, headers, body, world=world)
    assert not verify(SECRET, headers, body.replace(b"failed", b"passed"), world=world)
    assert not verify("another secret of some length", headers, body, world=world)
    assert not verify(SECRET, {**headers, "webhook-id": "x"}, body, world=world)
    assert not verify(SECRET, {**headers, "webhook-timestamp": "²"}, body, world=world)
    assert not verify(SECRET, {}, body, world=world)
    await clock.advance(301)
    assert not verify(SECRET, headers, body, world=world)


@pytest.mark.parametrize("status", [199, 302, 404, 500])
async def test_any_other_answer_counts_as_not_taken(status: int) -> None:
    with pytest.raises(WebhookRefused, match=f"ops.example answered {status}"):
        await Webhook("https://ops.example/hook", SECRET, post=Receiver(status).post, world=WORLD)(FAILED)


async def test_a_receiver_that_is_gone_is_not_asked_again() -> None:
    with pytest.raises(NonRetryableError, match="is gone"):
        await Webhook("https://ops.example/hook", SECRET, post=Receiver(410).post, world=WORLD)(FAILED)


async def test_httpx_makes_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200)

    class Client(httpx.AsyncClient):
        def __init__(self, **options: Any) -> None:
            super().__init__(transport=httpx.MockTransport(answer), **options)

    monkeypatch.setattr(httpx, "AsyncClient", Client)
    await Webhook("https://ops.example/hook", SECRET, world=WORLD)(FAILED)
    (request,) = seen
    assert verify(SECRET, request.headers, request.content, world=WORLD)


def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def missing(name: str, *args: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return load(name, *args)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match="pip install httpx"):
        Webhook("https://ops.example/hook", SECRET)


@pytest.mark.parametrize(("url", "secret"), [("ftp://x/y", SECRET), ("https://", SECRET), ("https://x/", "short")])
def test_what_cannot_work_is_refused(url: str, secret: str) -> None:
    with pytest.raises(UsageError):
        Webhook(url, secret, post=Receiver().post)
