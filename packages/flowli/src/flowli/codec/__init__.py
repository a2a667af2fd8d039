"""Objects as JSON-compatible data and back; canonical JSON; digests.

Two converters, both prepared once per type: one for the values of workflow code, which checks that each value will come
back equal and of equal type (``to_data``, ``from_data``), and one for the objects of the domain (``dump``, ``load``).
"""

from __future__ import annotations

from flowli.codec.arguments import arguments, load_arguments
from flowli.codec.canonical import canonical, digest
from flowli.codec.entries import dump_entries, load_control, load_journal
from flowli.codec.failures import error_info
from flowli.codec.objects import dump, load
from flowli.codec.signatures import return_hint
from flowli.codec.values import encode, from_data, to_data

__all__ = [
    "arguments",
    "canonical",
    "digest",
    "dump",
    "dump_entries",
    "encode",
    "error_info",
    "from_data",
    "load",
    "load_arguments",
    "load_control",
    "load_journal",
    "return_hint",
    "to_data",
]
