"""The table of flowli's own commands. It imports nothing heavy: it is all that ``flowli --help`` needs of them.

The core hands these out by the hook ``flowli_commands``, like any other distribution. ``TOPICS`` orders the help; a
command that stands under no topic is listed under ``OTHER``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from flowli.descriptors import CommandType

if TYPE_CHECKING:
    from click import Command

__all__ = ["COMMANDS", "OTHER", "TOPICS", "CoreCommand", "core_commands"]

OTHER = "More"
"""The topic of commands that plugins bring along."""


@dataclass(frozen=True, slots=True)
class CoreCommand:
    """One command of the core.

    Attributes:
        name: what users type.
        topic: under which it is listed.
        summary: its line in ``flowli --help``.
        target: ``module:attribute`` of the click command, below ``flowli.cli``.
    """

    name: str
    topic: str
    summary: str
    target: str

    def load(self) -> Command:
        """Import the click command."""
        module, _, attribute = self.target.partition(":")
        return cast("Command", getattr(import_module(f"flowli.cli.{module}"), attribute))


_BUILD, _RUN, _OPERATE, _LOOK = "Build", "Run", "Operate", "Look"

COMMANDS: tuple[CoreCommand, ...] = (
    CoreCommand("init", _BUILD, "Make a small application, or a plugin, with a test", "init.command:init"),
    CoreCommand("dev", _BUILD, "Worker and sweeper in one process, with a live view", "dev.command:dev"),
    CoreCommand("lint", _BUILD, "Find in workflows what a replay could not repeat", "lint:lint"),
    CoreCommand("plugins", _BUILD, "List the installed plugins and what they provide", "inspect.plugins:plugins"),
    CoreCommand("completion", _BUILD, "Print the completion script of a shell", "completion:completion"),
    CoreCommand("worker", _RUN, "Run the executions of one or more queues", "jobs.worker:worker"),
    CoreCommand("sweeper", _RUN, "Fire timers and recover what a crash left behind", "jobs.sweeper:sweeper"),
    CoreCommand("retention", _RUN, "Archive finished executions and trim the bucket", "jobs.retention:retention"),
    CoreCommand("start", _OPERATE, "Start an execution of a workflow", "operate.start:start"),
    CoreCommand("signal", _OPERATE, "Send a message to an execution", "operate.signal:signal"),
    CoreCommand("broadcast", _OPERATE, "Send a message to all that wait for it", "operate.signal:broadcast"),
    CoreCommand("cancel", _OPERATE, "Ask an execution to stop; its clean-up code runs", "operate.verbs:cancel"),
    CoreCommand("terminate", _OPERATE, "End an execution without running its code", "operate.verbs:terminate"),
    CoreCommand("pause", _OPERATE, "Hold an execution until it is resumed", "operate.verbs:pause"),
    CoreCommand("resume", _OPERATE, "Let a paused or parked execution go on", "operate.verbs:resume"),
    CoreCommand("migrate", _OPERATE, "Move an execution to another version", "operate.verbs:migrate"),
    CoreCommand("bucket", _OPERATE, "Copy a whole installation to another bucket", "bucket.command:bucket"),
    CoreCommand("projection", _OPERATE, "Keep the view behind lists quick to build", "projection.command:projection"),
    CoreCommand("doctor", _LOOK, "Examine the bucket, and say go or no-go", "doctor.command:doctor"),
    CoreCommand("bench", _LOOK, "Measure what executions take and cost on a bucket", "bench.command:bench"),
    CoreCommand("retry", _OPERATE, "Go on from where an execution failed", "operate.forking:retry"),
    CoreCommand("fork", _OPERATE, "Go on from a frame of a finished execution", "operate.forking:fork"),
    CoreCommand("replay", _OPERATE, "Start again with the same input", "operate.forking:replay"),
    CoreCommand("erase", _OPERATE, "Remove the payloads of a finished execution", "operate.erase:erase"),
    CoreCommand("queues", _OPERATE, "List, pause, resume and limit queues", "operate.queues:queues"),
    CoreCommand(
        "dead-letters", _OPERATE, "List, retry and drop what was set aside", "operate.dead_letters:dead_letters"
    ),
    CoreCommand("outbox", _RUN, "Start and signal what a SQL database has committed", "operate.outbox:outbox"),
    CoreCommand("subscriptions", _OPERATE, "Tell others of changes by webhook", "operate.subscriptions:subscriptions"),
    CoreCommand("export", _OPERATE, "Write executions to a file", "portable.exporting:export"),
    CoreCommand("import", _OPERATE, "Take executions in from a file", "portable.importing:import_executions"),
    CoreCommand("explain", _LOOK, "Say why an execution stands still, and what moves it", "inspect.explain:explain"),
    CoreCommand("check", _LOOK, "Verify every invariant of a bucket, repair what is safe", "check.command:check"),
    CoreCommand("list", _LOOK, "List executions, the newest first", "inspect.listing:list_executions"),
    CoreCommand("status", _LOOK, "Show on one screen where an execution stands", "inspect.status:status"),
    CoreCommand("show", _LOOK, "Show the frames of an execution as a tree", "inspect.show:show"),
    CoreCommand("watch", _LOOK, "Watch an execution until it ends", "inspect.watch:watch"),
    CoreCommand("logs", _LOOK, "Print what the steps of an execution logged", "inspect.logs:logs"),
    CoreCommand("timeline", _LOOK, "Tell what happened in an execution, in words", "inspect.timeline:timeline"),
    CoreCommand("graph", _LOOK, "Show what an execution did as nodes and edges", "inspect.graph:graph"),
    CoreCommand("inspect", _LOOK, "Show all that the bucket says of an execution", "inspect.inspection:inspect"),
    CoreCommand("journal", _LOOK, "Print the journal of an execution", "inspect.journal:journal"),
)

TOPICS: tuple[str, ...] = (_BUILD, _RUN, _OPERATE, _LOOK)


def core_commands() -> list[CommandType]:
    """The descriptors that the core's plugin module returns from its hook ``flowli_commands``."""
    return [CommandType(one.name, one.summary, _loader(one)) for one in COMMANDS]


def _loader(command: CoreCommand) -> Callable[[], Command]:
    return command.load
