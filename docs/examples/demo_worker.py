"""A worker as a process of its own: the command ``flowli worker``, with short leases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class WorkerProcess:
    """``flowli worker`` under its own pid; what it prints goes to ``worker-N.log``."""

    def __init__(self, number: int, folder: Path, storage: str) -> None:
        self.number = number
        self.log = folder / f"worker-{number}.log"
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        options = ["--app", "app:registry", "--storage", storage, "--worker-id", f"worker-{number}", "--with-sweeper"]
        environment = os.environ | {"PYTHONPATH": path, "FLOWLI_EXEC_TTL": "3", "FLOWLI_TASK_TTL": "3"}
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flowli.cli", "worker", *options],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def check(self, deadline: float) -> None:
        """End the demo with a plain sentence if the process has ended by itself or the time is up."""
        if self._process.poll() is not None:
            sys.exit(f"worker {self.number} ended with {self._process.returncode}; {self.log} says why.")
        if time.monotonic() > deadline:
            sys.exit(f"The time is up and not everything has ended; {self.log} says what worker {self.number} did.")

    def kill(self) -> None:
        """SIGKILL: no clean-up, no last words."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM: the worker finishes what it is doing and leaves."""
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait(timeout=10) != 0:
            sys.exit(f"worker {self.number} did not stop cleanly; {self.log} says why.")

    def end(self) -> None:
        """Whatever happened, leave no process behind."""
        if self._process.poll() is None:
            self.kill()
