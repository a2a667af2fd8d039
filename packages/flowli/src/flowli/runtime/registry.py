"""``Registry``: the workflows that a process knows."""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from flowli.domain.errors import UnknownWorkflow, UsageError
from flowli.domain.ids import check_key, check_name
from flowli.runtime.context import Context

__all__ = ["Registry", "Workflow", "WorkflowFunction"]

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
WorkflowFunction = Callable[Concatenate[Context, P], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named, versioned async function.

    Attributes:
        fn: takes the ``Context`` first.
        queue: where its executions go unless the start says otherwise.
        timeout_s: execution timeout in seconds unless the start says otherwise.
        code_ref: changes when the source text of the function changes; tells operators which code parked an execution.
    """

    name: str
    version: str
    fn: Callable[..., Awaitable[Any]]
    queue: str = "default"
    timeout_s: float | None = None
    code_ref: str = ""

    @property
    def doc(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.fn) or "").partition("\n")[0]


class Registry:
    """Workflows by name and version, and the steps that other workers run for them.

    Example:
        >>> registry = Registry()
        >>> @registry.workflow
        ... async def greet(ctx: Context, name: str) -> str:
        ...     return f"hello {name}"
    """

    def __init__(self) -> None:
        self._workflows: dict[str, dict[str, Workflow]] = {}
        self._steps: dict[str, Callable[..., Any]] = {}

    @overload
    def workflow(self, fn: WorkflowFunction[P, T], /) -> WorkflowFunction[P, T]: ...

    @overload
    def workflow(
        self,
        /,
        *,
        name: str | None = None,
        version: str = "1",
        queue: str = "default",
        timeout: float | timedelta | None = None,
    ) -> Callable[[WorkflowFunction[P, T]], WorkflowFunction[P, T]]: ...

    def workflow(self, fn: Any = None, /, **options: Any) -> Any:
        """Register the decorated async function; it stays callable as it is.

        Args:
            name: defaults to the function's name.
            version: any short text; the one registered last is used for new executions.
            queue: where its executions go by default.
            timeout: execution timeout by default, in seconds.

        Raises:
            UsageError: it is no async function, takes no ``Context``, or the name and version are taken.
        """
        if fn is None:
            return functools.partial(self._decorate, options)
        return self._decorate({}, fn)

    def _decorate(self, options: dict[str, Any], fn: Callable[..., Any]) -> Callable[..., Any]:
        self.add(fn, **options)
        return fn

    def add(
        self,
        fn: Callable[..., Awaitable[Any]],
        *,
        name: str | None = None,
        version: str = "1",
        queue: str = "default",
        timeout: float | timedelta | None = None,
    ) -> Workflow:
        """Register a function without a decorator; the arguments and errors are those of ``workflow``."""
        name = check_name("workflow", name or str(getattr(fn, "__name__", "?")))
        if inspect.isasyncgenfunction(fn):
            raise UsageError(f"workflow '{name}' yields; it must return its result, and can publish what comes before")
        if not inspect.iscoroutinefunction(fn):
            raise UsageError(f"workflow '{name}' is not an async function; write it as `async def {name}(ctx, ...)`")
        if not inspect.signature(fn).parameters:
            raise UsageError(f"workflow '{name}' takes no parameter; its first one is the Context")
        versions = self._workflows.setdefault(name, {})
        if version in versions:
            raise UsageError(
                f"workflow '{name}' version '{version}' is registered twice; give one of them another version"
            )
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        found = Workflow(name, check_key("version", version), fn, check_name("queue", queue), seconds, _code_ref(fn))
        versions[version] = found
        return found

    @overload
    def step(self, fn: F, /) -> F: ...

    @overload
    def step(self, /, *, name: str | None = None) -> Callable[[F], F]: ...

    def step(self, fn: Any = None, /, *, name: str | None = None) -> Any:
        """Register the decorated function as a step that workers of other queues run: ``ctx.step(fn, queue="gpu")``.

        It stays callable as it is. Who runs it needs this registration and not the workflow; steps that run beside
        their workflow need none.

        Args:
            name: under which they know it; defaults to the function's name.

        Raises:
            UsageError: the name is taken, or the function has none.
        """
        if fn is None:
            return functools.partial(self.step, name=name)
        known = str(name or getattr(fn, "__name__", "?"))
        if known == "<lambda>":
            raise UsageError("a lambda has no name under which other workers know it: Registry.step(name='...')(fn)")
        check_name("step", known)
        if known in self._steps:
            raise UsageError(f"step '{known}' is registered twice; give one of them another name")
        self._steps[known] = fn
        return fn

    def find_step(self, name: str) -> Callable[..., Any] | None:
        """The function of a step that was registered, or None."""
        return self._steps.get(name)

    def step_name(self, fn: Callable[..., Any]) -> str:
        """The name under which a step was registered.

        Raises:
            UsageError: it was not.
        """
        for name, known in self._steps.items():
            if known == fn:
                return name
        called = getattr(fn, "__name__", repr(fn))
        raise UsageError(
            f"step '{called}' is to run on another queue and is not registered; decorate it with @registry.step, here "
            "and in the workers of that queue"
        )

    def find(self, name: str, version: str | None = None) -> Workflow | None:
        """The workflow, or None; without a version the one registered last."""
        versions = self._workflows.get(name, {})
        return versions.get(version) if version is not None else next(reversed(versions.values()), None)

    def get(self, name: str, version: str | None = None) -> Workflow:
        """The workflow of that name; without a version the one registered last.

        Raises:
            UnknownWorkflow: there is none; near matches and known versions are named.
        """
        found = self.find(name, version)
        if found is not None:
            return found
        if name in self._workflows:
            known = ", ".join(f"'{v}'" for v in self._workflows[name])
            raise UnknownWorkflow(f"workflow '{name}' has no version '{version}' here; known are {known}")
        near = difflib.get_close_matches(name, self._workflows, n=3)
        if near:
            hint = "did you mean " + " or ".join(f"'{match}'" for match in near) + "?"
        elif self._workflows:
            hint = "known are " + ", ".join(f"'{known}'" for known in sorted(self._workflows)[:10])
        else:
            hint = "no workflow is registered; name the application with --app module:registry"
        raise UnknownWorkflow(f"no workflow '{name}' is registered: {hint}")

    def of(self, workflow: str | Callable[..., Any], version: str | None = None) -> Workflow:
        """The workflow of a name or of a registered function.

        Raises:
            UnknownWorkflow: it is not registered.
        """
        if isinstance(workflow, str):
            return self.get(workflow, version)
        for found in self:
            if found.fn is workflow and version in (None, found.version):
                return found
        return self.get(getattr(workflow, "__name__", repr(workflow)), version)

    def __iter__(self) -> Iterator[Workflow]:
        return (workflow for versions in self._workflows.values() for workflow in versions.values())

    def __len__(self) -> int:
        return sum(map(len, self._workflows.values()))


def _code_ref(fn: Callable[..., Any]) -> str:
    try:
        source = inspect.getsource(fn)
    except (OSError, TypeError):
        source = getattr(fn, "__qualname__", repr(fn))
    return hashlib.sha256(source.encode()).hexdigest()[:12]
