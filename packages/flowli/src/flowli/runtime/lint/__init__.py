"""``flowli lint``: finds in the source of workflows what a replay could not repeat, without running or importing it.

``find`` says which functions of a module are workflow code; ``calls``, ``frames`` and ``state`` hold the rules,
``codes`` the table of what they find.
"""

from __future__ import annotations

from flowli.runtime.lint.codes import CODES
from flowli.runtime.lint.findings import Finding
from flowli.runtime.lint.modules import lint_module, lint_source

__all__ = ["CODES", "Finding", "lint_module", "lint_source"]
