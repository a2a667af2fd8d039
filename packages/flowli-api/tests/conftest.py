"""A service in this process over a bucket in memory, with callers of every kind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest
import structlog
from fastapi import FastAPI

from flowli import Context, Engine, MemoryBackend, Registry, Site
from flowli_api.app import create_app
from flowli_api.auth.identity import Identity
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig

registry = Registry()


@registry.workflow
async def ask(ctx: Context, question: str, patience_s: float = 3600.0) -> str:
    """Wait for an answer."""
    await ctx.step(len, question)
    answer = await ctx.receive("answer", timeout=patience_s)
    return f"{question} {answer}"


@registry.workflow
async def fail(ctx: Context, secret: str) -> None:
    """Fail with a message."""
    await ctx.step(broken, secret)


@registry.workflow(version="2", name="fail")
async def fail_less(ctx: Context, secret: str) -> str:
    """Do not fail."""
    return secret


@registry.workflow
async def delegating(ctx: Context, payload: str) -> object:
    """Have a consumer do something."""
    await ctx.enqueue("agents", payload, reply_to="reply", correlation="c-1")
    return await ctx.receive("reply", timeout=3600.0)


@registry.workflow
async def talking(ctx: Context, lines: int) -> None:
    """Write to a stream, and close it when somebody says so."""
    await ctx.publish("state", "talking")
    stream = ctx.stream("lines")
    for number in range(lines):
        await stream.write(f"line {number}")
    await ctx.receive("go")
    await stream.write("the end")
    await stream.close()
    await ctx.publish("state", "done")


@registry.workflow
async def patient(ctx: Context, patience: timedelta = timedelta(days=2)) -> float:
    """Tell how many seconds a duration has."""
    return patience.total_seconds()


def broken(secret: str) -> None:
    raise ValueError("it is broken")


def token_of(name: str) -> str:
    return f"the-token-of-{name}-{'x' * 12}"


def identity(name: str, *capabilities: str, workflows: frozenset[str] | None = None) -> Identity:
    return Identity(name, capabilities=frozenset(capabilities), workflows=workflows)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Tests that look at the log set it up themselves."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@dataclass
class Shop:
    """A service and what stands behind it."""

    app: FastAPI
    engine: Engine
    people: dict[str, Identity]

    def client(self, name: str | None = "root", **options: object) -> httpx.AsyncClient:
        """A client with the token of somebody; of nobody for None."""
        headers = {} if name is None else {"authorization": f"Bearer {token_of(name)}"}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://flowli.test", headers=headers, **options)

    async def work(self) -> None:
        """Run all that can run."""
        await self.engine.worker().run_until_idle()

    async def started(self, workflow: str = "ask", *args: object) -> str:
        """The id of a new execution that has run as far as it can."""
        eid = await self.engine.start(workflow, *(args or ("why?",)))
        await self.work()
        return str(eid)


PEOPLE = {
    "root": identity("root", "admin"),
    "nobody": identity("nobody"),
    "reader": identity("reader", "executions:read", "workflows:read"),
    "asker": identity("asker", "admin", workflows=frozenset({"ask"})),
}


@pytest.fixture
async def open_shop() -> AsyncIterator[Callable[..., Awaitable[Shop]]]:
    """Makes services; those of one backend share a bucket."""
    opened: list[Shop] = []

    async def make(
        config: ApiConfig | None = None, backend: MemoryBackend | None = None, people: dict[str, Identity] | None = None
    ) -> Shop:
        backend = backend or MemoryBackend()
        engine = Engine(backend.ports, Site.local(f"api-{len(opened)}"), registry=registry)
        known = {**PEOPLE, **(people or {})}
        authenticator = StaticAuthenticator({token_of(name): one for name, one in known.items()})
        config = config or ApiConfig(rate_per_s=None, fresh_s=0.0, poll_s=0.01, interface=False)
        shop = Shop(create_app(engine, authenticator=authenticator, config=config), engine, known)
        opened.append(shop)
        return shop

    yield make
    for shop in opened:
        await shop.app.state.service.close()
        await shop.engine.close()


@pytest.fixture
async def shop(open_shop: Callable[..., Awaitable[Shop]]) -> Shop:
    """One service."""
    return await open_shop()


@pytest.fixture
async def http(shop: Shop) -> AsyncIterator[httpx.AsyncClient]:
    """A client that may do everything."""
    async with shop.client() as client:
        yield client
