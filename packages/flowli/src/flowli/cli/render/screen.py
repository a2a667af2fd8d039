"""``Screen``: standard output as a terminal, as a pipe or as JSON.

Piped text holds no escape sequences and no guides, every line stands for itself and nothing is cut, so that ``grep``
and ``awk`` work. On a terminal lines are coloured and cut to its width. ``NO_COLOR`` takes all styles away.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import click

from flowli.domain.data import Data

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["Cell", "Screen", "aligned", "plain"]

Cell: TypeAlias = str | tuple[str, str]
"""Text, or text with the style that it has on a terminal."""


def aligned(headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """The cells of each line of a table, padded so that the columns stand below each other."""
    lengths = [max(len(plain(cell)) for cell in column) for column in zip(headers, *rows, strict=True)]
    marked: list[Sequence[Cell]] = [[(header, "bold dim") for header in headers], *rows]
    lines: list[list[Cell]] = []
    for row in marked:
        cells: list[Cell] = []
        for cell, length in zip(row, lengths, strict=True):
            cells += [cell, " " * (length - len(plain(cell)) + 2)]
        lines.append(cells[:-1])
    return lines


def plain(cell: Cell) -> str:
    """The text of a cell."""
    return cell if isinstance(cell, str) else cell[0]


class Screen:
    """Writes one command's answer.

    Args:
        json_wanted: the command answers in JSON.
    """

    def __init__(self, *, json_wanted: bool = False) -> None:
        self.json_wanted = json_wanted

    @cached_property
    def console(self) -> Console:
        """The terminal; only made when there is one."""
        from rich.console import Console

        colour = None if os.environ.get("NO_COLOR") else "auto"
        return Console(file=sys.stdout, color_system=colour, highlight=False, emoji=False, markup=False)  # type: ignore[arg-type]

    @cached_property
    def terminal(self) -> bool:
        """Whether a person looks at it."""
        return not self.json_wanted and (sys.stdout.isatty() or os.environ.get("FORCE_COLOR", "") not in ("", "0"))

    @property
    def narrow(self) -> bool:
        """Whether it is a terminal with no room for whole ids beside other columns."""
        return self.terminal and self.console.width < 120

    def json(self, value: Data) -> None:
        """Write one JSON document: indented on a terminal, on one line when piped."""
        indent = 2 if sys.stdout.isatty() else None
        click.echo(json.dumps(value, ensure_ascii=False, indent=indent))

    def json_line(self, value: Data) -> None:
        """Write one of many JSON values, on a line of its own."""
        click.echo(json.dumps(value, ensure_ascii=False))

    def line(self, *cells: Cell) -> None:
        """Write one line."""
        if self.terminal:
            self.console.print(self._text(cells), no_wrap=True, overflow="ellipsis", crop=True)
        else:
            click.echo("".join(plain(cell) for cell in cells).rstrip())

    def paragraph(self, *cells: Cell, indent: int = 0, whole: bool = False) -> None:
        """Write a text that wraps at the edge of a terminal.

        Args:
            indent: spaces before each line.
            whole: it is one line whatever its length, so that it can be copied: the terminal itself wraps it.
        """
        if not self.terminal:
            click.echo((" " * indent + "".join(plain(cell) for cell in cells)).rstrip())
        elif whole:
            self.console.print(self._text([" " * indent, *cells]), soft_wrap=True)
        else:
            from rich.padding import Padding

            self.console.print(Padding(self._text(cells), (0, 0, 0, indent)))

    def fields(self, fields: Sequence[tuple[str, Cell]]) -> None:
        """Write ``name  value`` lines, one below the other; long values wrap on a terminal."""
        width = max((len(name) for name, _ in fields), default=0)
        for name, cell in fields:
            if not self.terminal:
                click.echo(f"{name:<{width}}  {plain(cell)}".rstrip())
                continue
            from rich.table import Table

            row = Table.grid(padding=(0, 2))
            row.add_column(width=width, style="dim")
            row.add_column(overflow="fold")
            row.add_row(name, self._text([cell]))
            self.console.print(row)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Write aligned columns under headers. On a terminal the last column is cut at the edge."""
        for cells in aligned(headers, rows):
            self.line(*cells)

    def confirm(self, question: str) -> bool:
        """Ask the person; nobody answers where standard input is no terminal, and the answer is no."""
        return sys.stdin.isatty() and click.confirm(question, err=True)

    def note(self, text: str) -> None:
        """Tell the person something that is no part of the answer, on standard error."""
        if not self.json_wanted:
            click.echo(text, err=True)

    def _text(self, cells: Sequence[Cell]) -> Text:
        from rich.text import Text

        text = Text()
        for cell in cells:
            text.append(plain(cell), style=None if isinstance(cell, str) else cell[1])
        return text
