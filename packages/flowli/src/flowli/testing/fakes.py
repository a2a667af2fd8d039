"""Fakes: what stands in the place of a step while workflows are tested."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from flowli.domain.errors import UsageError
from flowli.runtime import Engine, Worker
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.replay.calls import RunStep
from flowli.runtime.step import StepScope

__all__ = ["Call", "Fake", "Fakes", "FakingWorker"]


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of a step that a fake ran."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(slots=True)
class Fake:
    """A function that runs in the place of a step.

    Attributes:
        fn: takes what the step takes, plain or async; what it returns is recorded under the step's annotation.
        calls: every attempt, in order.
    """

    fn: Callable[..., Any]
    calls: list[Call] = field(default_factory=list)

    @property
    def called(self) -> int:
        """How often it ran; attempts that were retried count."""
        return len(self.calls)

    def as_step(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """A function of its kind, plain or async, that counts; whatever ``fn`` is, a mock for example.

        Args:
            step: whose signature and annotations it has: arguments are read by them.
        """

        @functools.wraps(step)
        def plain(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(Call(args, kwargs))
            return self.fn(*args, **kwargs)

        @functools.wraps(step)
        async def on_the_loop(*args: Any, **kwargs: Any) -> Any:
            return await plain(*args, **kwargs)

        return on_the_loop if inspect.iscoroutinefunction(self.fn) else plain


class Fakes:
    """The fakes of one environment, and the steps that run now.

    Attributes:
        running: labels of the attempts under way.
        ended: how many attempts have ended.
    """

    def __init__(self) -> None:
        self._fakes: dict[Callable[..., Any], Fake] = {}
        self.running: list[str] = []
        self.ended = 0

    def replace(self, step: Callable[..., Any], fake: Callable[..., Any]) -> Fake:
        """Have ``fake`` run wherever ``step`` would; a second one for the same step takes the place of the first.

        Raises:
            UsageError: one of them cannot be called.
        """
        for one in (step, fake):
            if not callable(one):
                raise UsageError(f"{one!r} cannot be called; give the step function and a function in its place")
        self._fakes[step] = found = Fake(fake)
        return found

    def install(self, runner: StepRunner) -> None:
        """Have ``runner`` ask here before each attempt."""
        attempt = runner.attempt

        async def faked(action: RunStep, scope: StepScope, check: Callable[[], None]) -> Any:
            label = f"{scope.info.fid} of {scope.info.eid}"
            self.running.append(label)
            try:
                return await attempt(self._faked(action), scope, check)
            finally:
                self.running.remove(label)
                self.ended += 1

        runner.attempt = faked  # type: ignore[method-assign]

    def _faked(self, action: RunStep) -> RunStep:
        fake = self._fakes.get(action.fn)
        if fake is None:
            return action
        return replace(action, fn=fake.as_step(action.fn))


class FakingWorker(Worker):
    """A worker whose steps may be replaced."""

    def __init__(self, engine: Engine, fakes: Fakes, *, queues: tuple[str, ...]) -> None:
        super().__init__(engine, queues=queues)
        fakes.install(self._runner)
