"""What a workflow may not ask of its loop: I/O, threads, signals and the machine's clock. Each is refused by name."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NoReturn

from flowli.domain.errors import NotDeterministic, UsageError

__all__ = ["RefusingLoop", "refuse", "refuse_outside"]


def refuse(what: str) -> NoReturn:
    """Raise ``NotDeterministic`` for ``what``, with what to use instead."""
    raise NotDeterministic(
        f"{what} cannot be used in a workflow: a replay could not repeat it; do it in a step (await ctx.step(...))"
    )


def refuse_outside(what: str) -> NoReturn:
    """Raise ``UsageError`` for ``what``, which was used where no code of its workflow runs.

    Where a coroutine that nobody dropped is finished by the garbage collector, since the loop of its worker was closed
    amid a run, there is nobody to tell: its ``finally`` blocks end quietly.
    """
    if isinstance(sys.exc_info()[1], GeneratorExit):
        raise GeneratorExit
    raise UsageError(
        f"{what} was used outside its workflow; only workflow code can make frames: a step returns what the workflow "
        "should go on with"
    )


class RefusingLoop(asyncio.AbstractEventLoop):
    """An event loop that does none of this."""

    def run_in_executor(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        refuse("loop.run_in_executor (asyncio.to_thread)")

    def run_forever(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.run_forever")

    def run_until_complete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.run_until_complete")

    def stop(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.stop")

    def call_soon_threadsafe(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        refuse("loop.call_soon_threadsafe")

    def set_default_executor(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.set_default_executor")

    def getaddrinfo(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.getaddrinfo")

    def getnameinfo(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.getnameinfo")

    def create_connection(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.create_connection")

    def create_server(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.create_server")

    def create_unix_connection(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.create_unix_connection")

    def create_unix_server(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.create_unix_server")

    def create_datagram_endpoint(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.create_datagram_endpoint")

    def start_tls(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.start_tls")

    def sendfile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sendfile")

    def connect_read_pipe(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.connect_read_pipe")

    def connect_write_pipe(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.connect_write_pipe")

    def connect_accepted_socket(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.connect_accepted_socket")

    def subprocess_exec(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.subprocess_exec")

    def subprocess_shell(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.subprocess_shell")

    def add_reader(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        refuse("loop.add_reader")

    def remove_reader(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.remove_reader")

    def add_writer(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        refuse("loop.add_writer")

    def remove_writer(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.remove_writer")

    def sock_recv(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_recv")

    def sock_recv_into(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_recv_into")

    def sock_recvfrom(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_recvfrom")

    def sock_recvfrom_into(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_recvfrom_into")

    def sock_sendall(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_sendall")

    def sock_sendto(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_sendto")

    def sock_connect(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_connect")

    def sock_accept(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_accept")

    def sock_sendfile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.sock_sendfile")

    def add_signal_handler(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        refuse("loop.add_signal_handler")

    def remove_signal_handler(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.remove_signal_handler")

    def close(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.close")

    def set_task_factory(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        refuse("loop.set_task_factory")
