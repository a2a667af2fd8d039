"""Executions as a file that another installation reads: exported whole, verified when they are taken in."""

from __future__ import annotations

from flowli.runtime.portable.form import BadExport, Portable, read_export, write_export
from flowli.runtime.portable.move import Taken, check, portable, take_in

__all__ = ["BadExport", "Portable", "Taken", "check", "portable", "read_export", "take_in", "write_export"]
