"""A folder of recorded histories: journals of executions, kept beside the tests, that today's code must still go along.

    >>> histories = Histories(Path(__file__).parent / "histories")
    >>> histories.save("order-with-retries", await engine.journal(eid))     # once
    >>> @pytest.mark.parametrize("name", histories.names)
    ... def test_orders_that_are_under_way_can_go_on(name):
    ...     histories.replay(name, registry).check()

One file a history, as ``flowli.testing.replay`` writes it. A journal holds what the workflow was given and what its
steps returned: record executions of test data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowli.domain.entries import ExecutionStarted, JournalEntry
from flowli.domain.errors import UsageError
from flowli.domain.ids import check_name
from flowli.domain.memo import JournalFold
from flowli.runtime import Registry
from flowli.testing.replay import ReplayReport, read_history, replay, write_history

__all__ = ["Histories"]


class Histories:
    """The histories in one folder.

    Args:
        folder: holds a file ``{name}.json`` for each.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all histories, in order.

        Raises:
            UsageError: there is none: a test that is parametrized with nothing would pass.
        """
        found = tuple(sorted(path.stem for path in self._folder.glob("*.json")))
        if not found:
            raise UsageError(f"{self._folder} holds no history; record one with save()")
        return found

    def save(self, name: str, entries: Sequence[JournalEntry]) -> Path:
        """Write a history, in the place of an earlier one of that name.

        Args:
            name: letters, digits, ``-`` and ``_``.
            entries: the whole journal of one execution.

        Raises:
            UsageError: it is no name, or the journal does not begin with ``execution.started``.
        """
        if not entries or not isinstance(entries[0].body, ExecutionStarted):
            raise UsageError("a history begins with execution.started; give the whole journal of one execution")
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{check_name('history', name)}.json"
        write_history(path, entries)
        return path

    def load(self, name: str) -> tuple[JournalEntry, ...]:
        """Read a history.

        Raises:
            UsageError: there is none of that name; the known ones are listed.
        """
        path = self._folder / f"{name}.json"
        if not path.is_file():
            raise UsageError(f"{self._folder} holds no history {name!r}; it holds {', '.join(self.names)}")
        return read_history(path)

    def replay(self, name: str, registry: Registry) -> ReplayReport:
        """Let the registered workflow go through a history; ``check()`` of what is returned raises at a difference.

        Args:
            registry: knows the workflow of the history, in the version that ran last, and its children.

        Raises:
            UnknownWorkflow: it does not.
        """
        entries = self.load(name)
        fold = JournalFold(entries)
        if fold.execution is None:
            raise UsageError(f"history {name!r} does not begin with execution.started")
        return replay(registry.get(fold.execution.workflow, fold.version), entries, registry=registry)
