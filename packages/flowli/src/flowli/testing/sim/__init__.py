"""Deterministic simulation: production code, unmodified, on virtual time, with every fault at every operation.

``loop`` is an event loop whose time only passes when nothing is ready; ``node`` is a process that can be killed,
frozen, restarted and whose clocks can be wrong; ``bucket`` is the store that all nodes share, and that carries the
faults; ``cluster`` puts them together and runs a ``workload``; ``invariants`` says what must hold whatever happened;
``modes`` tries faults one by one, in pairs or by chance; ``story`` tells what happened.
"""
