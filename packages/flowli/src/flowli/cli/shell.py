"""The click classes of the command line: lazy subcommands by topic, help in two parts, errors as one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from flowli._suggest import near
from flowli.cli.commands import COMMANDS, OTHER, TOPICS
from flowli.cli.completing import EID
from flowli.cli.exits import CommandFailed, ExitCode, translate
from flowli.cli.options import Common, settings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from flowli.descriptors import CommandType

__all__ = ["FlowliCommand", "FlowliGroup", "FlowliParts"]


class FlowliCommand(click.Command):
    """A command whose options are read from the environment too, and whose help lists the common ones last.

    Args:
        under: the command that it is a part of: ``queues`` for ``flowli queues pause``.
    """

    def __init__(self, name: str | None, *, under: str = "", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        for option in self.params:
            if isinstance(option, click.Option) and option.envvar is None:
                option.envvar = _variable(f"{under}_{name}" if under else name or "", option)
            if option.name in ("eid", "eids"):
                option.type = EID

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in two parts."""
        own: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                (shared if isinstance(parameter, Common) else own).append(record)
        for title, records in (("Options", own), ("Common options", shared)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class FlowliParts(FlowliCommand, click.Group):
    """A command that does something by itself, and has parts."""


class FlowliGroup(click.Group):
    """The root command. Its subcommands are descriptors until one of them is called."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, from the descriptors alone."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        found = self._descriptors()
        return [CompletionItem(name, help=found[name].summary) for name in found if name.startswith(incomplete)]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the options; ``--help`` reads the descriptors already here, so a broken plugin may show."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            failed = translate(error)
            raise failed if failed is not None else error from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        return [name for _, names in self._by_topic() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name == "plugins":
            from flowli.cli.inspect.plugins import plugins

            return plugins  # it must run exactly when some plugin is broken
        descriptor = self._descriptors().get(cmd_name)
        return None if descriptor is None else descriptor.load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` name; propose the near ones if there is none."""
        try:
            command = self.get_command(ctx, args[0])
        except Exception as error:
            raise _failed(ctx, error) from error
        if command is None and not args[0].startswith("-"):
            hint = near(args[0], self.list_commands(ctx)) or "; `flowli --help` lists them"
            raise CommandFailed(f"flowli has no command {args[0]!r}{hint}", ExitCode.USAGE)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by topic, from their descriptors alone."""
        descriptors = self._descriptors()
        width = max((len(name) for name in descriptors), default=0)
        for topic, names in self._by_topic():
            with formatter.section(topic):
                formatter.write_dl([(name.ljust(width), descriptors[name].summary) for name in names])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an error of use becomes one sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
            if isinstance(error, CommandFailed):
                error.as_json = settings(ctx).json
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            raise _failed(ctx, error) from error

    def _by_topic(self) -> list[tuple[str, list[str]]]:
        names = list(self._descriptors())
        topics = {one.name: one.topic for one in COMMANDS}
        order = [one.name for one in COMMANDS]
        listed = [name for name in order if name in names] + sorted(set(names) - set(order))
        found = [(topic, [name for name in listed if topics.get(name, OTHER) == topic]) for topic in (*TOPICS, OTHER)]
        return [(topic, under) for topic, under in found if under]

    def _descriptors(self) -> Mapping[str, CommandType]:
        from flowli.descriptors import CommandType
        from flowli.plugins import manager

        return manager().all(CommandType)


def _variable(command: str, option: click.Option) -> str:
    """``FLOWLI_WORKER_CONCURRENCY`` for ``flowli worker --concurrency``."""
    return f"FLOWLI_{command}_{option.opts[0].removeprefix('--')}".replace("-", "_").upper()


def _failed(ctx: click.Context, error: Exception) -> Exception:
    failed = translate(error)
    if failed is None:
        return error
    failed.as_json = settings(ctx).json
    return failed
