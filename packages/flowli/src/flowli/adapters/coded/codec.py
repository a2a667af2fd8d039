"""``ValueCodec``: the steps through which values go on their way to a backend and back."""

from __future__ import annotations

from collections.abc import Sequence

from flowli._suggest import near
from flowli.descriptors import CodecType, ValueStep
from flowli.domain.errors import UsageError, ValueUnreadable
from flowli.domain.ports import Ports
from flowli.world import SYSTEM, World

__all__ = ["ValueCodec"]

_INLINE_BYTES = 256 * 1024
_MAX_BYTES = 32 * 1024 * 1024


class ValueCodec:
    """Compression, encryption, and offload of what is large: in this order for a value that is written.

    Values are arguments, results, errors, payloads of messages and tasks, claims. What a value is made of stays out of
    the bucket's keys and out of the control log in any case.

    Args:
        steps: in the order in which a value that is written goes through them; a name stands for the step of an
            installed plugin: ``zlib``, ``zstd``. Values are compressed first and encrypted second.
        inline_bytes: what is larger after all steps becomes a body of its own, to which a small reference leads.
        max_value_bytes: what is larger before all steps is refused.

    Raises:
        UsageError: no plugin provides a step of that name, or two steps have one name.

    Example:
        >>> codec = ValueCodec(["zlib", Encryption(KeyRing({"2026-06": key}))])
        >>> engine = Engine(codec.wrap(backend.ports), Site.local("w-1"), registry=registry)
    """

    def __init__(
        self,
        steps: Sequence[str | ValueStep] = ("zlib",),
        *,
        inline_bytes: int = _INLINE_BYTES,
        max_value_bytes: int = _MAX_BYTES,
    ) -> None:
        if not 0 < inline_bytes <= max_value_bytes:
            raise UsageError(
                f"inline_bytes is {inline_bytes} and max_value_bytes {max_value_bytes}; both must be positive, the "
                "second the larger"
            )
        self.steps: tuple[ValueStep, ...] = tuple(_named(one) if isinstance(one, str) else one for one in steps)
        self.inline_bytes = inline_bytes
        self.max_value_bytes = max_value_bytes
        self._by_name = {step.name: step for step in self.steps}
        if len(self._by_name) < len(self.steps):
            raise UsageError(f"two steps of a codec have one name: {', '.join(step.name for step in self.steps)}")

    def wrap(self, ports: Ports, *, world: World = SYSTEM) -> Ports:
        """``ports`` whose values go through this codec."""
        from flowli.adapters.coded.ports import coded

        return coded(ports, self, world=world)

    def seal(self, data: bytes, context: bytes) -> tuple[tuple[str, ...], bytes]:
        """Take ``data`` through the steps; returns those that changed it, as stored, and what came out."""
        taken: list[str] = []
        for step in self.steps:
            coded = step.encode(data, context)
            if coded is not None:
                data = coded.data
                taken.append(f"{step.name}:{coded.note}" if coded.note else step.name)
        return tuple(taken), data

    def open(self, taken: Sequence[str], data: bytes, context: bytes) -> bytes:
        """Undo ``seal``.

        Raises:
            ValueUnreadable: a step or a key is missing here, or the data was changed or moved.
        """
        for label in reversed(taken):
            name, _, note = label.partition(":")
            data = self._step(name, note).decode(data, context, note)
        return data

    def _step(self, name: str, note: str) -> ValueStep:
        step = self._by_name.get(name)
        if step is None:
            try:
                step = self._by_name[name] = _named(name)
            except UsageError as error:
                with_key = f" (key {note!r})" if note else ""
                raise ValueUnreadable(
                    f"a value was stored through the step {name!r}{with_key}, which this process does not have; give "
                    "it to the codec, or install the plugin that provides it"
                ) from error
        return step


def _named(name: str) -> ValueStep:
    from flowli.plugins import manager

    known = manager().all(CodecType)
    if name not in known:
        raise UsageError(f"no codec step is named {name!r}{near(name, known)}; installed: {', '.join(known)}")
    return known[name].load()
