"""``flowli completion``: the script that completes commands, options and ids in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from flowli.cli.shell import FlowliCommand

__all__ = ["completion"]

_VARIABLE = "_FLOWLI_COMPLETE"


@click.command(cls=FlowliCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and the ids of executions in SHELL: bash, zsh or fish.

    \b
    bash:  echo 'eval "$(flowli completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(flowli completion zsh)"' >> ~/.zshrc
    fish:  flowli completion fish > ~/.config/fish/completions/flowli.fish

    Ids come from the bucket that FLOWLI_STORAGE names.
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(context.find_root().command, {}, "flowli", _VARIABLE).source()
    click.echo(script)
