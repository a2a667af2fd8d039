"""Servers that tests start on a free port of this host and stop by their own process id."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

START_S = 300.0


class Unavailable(Exception):
    """An emulator cannot be had; the tests that need it fail with this sentence."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A process that listens on a port.

    Args:
        command: its arguments.
        port: where it will listen.
        environment: all of it; None for that of this process.
    """

    def __init__(self, command: Sequence[str | Path], port: int, environment: Mapping[str, str] | None = None) -> None:
        self.port = port
        descriptor, path = tempfile.mkstemp(prefix="flowli-emulator-")
        self._output = Path(path)
        self._process = subprocess.Popen(
            [str(one) for one in command],
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
        )
        os.close(descriptor)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.unlink(missing_ok=True)

    def _wait(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise Unavailable(f"{self._process.args[0]} ended at once: {self._said()}")
            with socket.socket() as one:
                one.settimeout(1.0)
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise Unavailable(f"{self._process.args} does not listen after {START_S:g} s: {self._said()}")

    def _said(self) -> str:
        return self._output.read_text(errors="replace")[-2000:]
