"""Engine: what runs several cells of a comparison at a time, each in a process of its own."""

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from personae.compare.grid import Cell
from personae.compare.work import ERROR
from personae.registry import Registrable

CHILD = "from personae.compare.work import main; main()"
DEVICES = "CUDA_VISIBLE_DEVICES"
PATIENCE = 30.0


class Job(ABC):
    """One cell at work."""

    @abstractmethod
    def done(self) -> bool:
        """Whether it has ended."""

    @abstractmethod
    def error(self) -> str | None:
        """What went wrong, in one line, once it is done."""

    @abstractmethod
    def ask_to_stop(self) -> None:
        """Ask it to end now."""

    @abstractmethod
    def wait_for_end(self) -> None:
        """Wait until it has ended, and make it end if it does not."""


class Engine(Registrable, ABC):
    """Starts cells. ``jobs``: how many are at work at a time, each in a slot from 0 to ``jobs`` - 1."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    @abstractmethod
    def start(self, cell: Cell, slot: int) -> Job:
        """Start ``cell`` in ``slot``, which is free. Its folder exists."""


@Engine.register("local")
class Local(Engine):
    """Processes of this machine, which share its cores; with several GPUs each has one to itself, in turn."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self.devices = gpus()

    def start(self, cell: Cell, slot: int) -> Job:
        """A process that listens on a pipe, and ends when this process does."""
        return Child(cell, self.environment(slot))

    def environment(self, slot: int) -> dict[str, str]:
        """``OMP_NUM_THREADS``, where it is set, goes before an equal share of the cores."""
        threads = {"OMP_NUM_THREADS": str(max(1, cores() // self.jobs))}
        device = {DEVICES: self.devices[slot % len(self.devices)]} if len(self.devices) > 1 else {}
        return {**threads, **os.environ, **device}


class Child(Job):
    """A process of this machine."""

    def __init__(self, cell: Cell, environment: dict[str, str]) -> None:
        self.log = cell.log
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", CHILD, cell.as_json()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
            )

    def done(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def error(self) -> str | None:
        """The last error of its log, unless it ended well."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return None if self.process.returncode == 0 else last_error(self.log, self.process.returncode)

    def ask_to_stop(self) -> None:
        """Checkpoints are whole or not there."""
        self.process.terminate()

    def wait_for_end(self) -> None:
        """Kill it where it takes too long."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def last_error(log: Path, status: int) -> str:
    """The error at the end of a cell's log; a process that was killed left none."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    if last.startswith(ERROR):
        return last.removeprefix(ERROR)
    return f"its process ended with status {status}: see {log}"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> Sequence[str]:
    """Names of the GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    import torch  # heavy

    named = [name.strip() for name in os.environ.get(DEVICES, "").split(",") if name.strip()]
    count = torch.cuda.device_count()
    return named[:count] if named else [str(number) for number in range(count)]
