"""Every cell of a comparison, one at a time in this process or several in processes of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from personae.compare.grid import Cell
from personae.compare.work import ERROR, Tell, attempt
from personae.errors import UserError

Hear = Callable[[str], None]
Process = subprocess.Popen[bytes]

CHILD = "from personae.compare.work import main; main()"
PATIENCE = 30.0
PAUSE = 0.1


def run_cells(
    cells: Sequence[Cell], jobs: int = 1, hear: Hear | None = None, tell: Callable[[Cell], Tell] | None = None
) -> dict[str, str]:
    """Run the cells that are not finished, ``jobs`` at a time, and return one line for each that failed, by label.

    One at a time runs in this process; ``tell(cell)`` then hears of its progress. More run in processes that
    share the cores. ``hear`` hears a line when a cell begins or ends. An interruption stops all of them; what
    they wrote stays, and the next ``run_cells`` goes on from there.
    """
    if jobs < 1:
        raise UserError(f"jobs={jobs}: run at least 1 cell at a time")
    hear = hear or (lambda _: None)
    todo = [cell for cell in cells if not cell.finished]
    if len(todo) < len(cells):
        hear(f"{len(cells) - len(todo)} of {len(cells)} runs are finished already")
    if jobs > 1 and len(todo) > 1:
        return _side_by_side(todo, min(jobs, len(todo)), hear)
    failed: dict[str, str] = {}
    for cell in todo:
        hear(f"{cell.label}: begins")
        start = time.monotonic()
        line = attempt(cell, tell(cell) if tell else None)
        _ended(cell, line, time.monotonic() - start, failed, hear)
    return failed


def _side_by_side(cells: Sequence[Cell], jobs: int, hear: Hear) -> dict[str, str]:
    waiting, failed = list(cells), dict[str, str]()
    running: dict[Cell, tuple[Process, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.pop(0)
                running[cell] = _start(cell, jobs), time.monotonic()
                hear(f"{cell.label}: begins, see {cell.log}")
            time.sleep(PAUSE)
            for cell in [each for each, (process, _) in running.items() if process.poll() is not None]:
                process, start = running.pop(cell)
                assert process.stdin is not None
                process.stdin.close()
                line = None if process.returncode == 0 else _last_error(cell.log, process.returncode)
                _ended(cell, line, time.monotonic() - start, failed, hear)
    finally:
        _stop([process for process, _ in running.values()])
    return failed


def _ended(cell: Cell, line: str | None, seconds: float, failed: dict[str, str], hear: Hear) -> None:
    if line is None:
        hear(f"{cell.label}: done in {seconds:,.0f} s")
    else:
        failed[cell.label] = line
        hear(f"{cell.label}: failed after {seconds:,.0f} s")


def _start(cell: Cell, jobs: int) -> Process:
    """A process for ``cell``; it listens on a pipe, and ends when this process does.

    ``OMP_NUM_THREADS`` of the environment, where it is set, goes before an equal share of the cores.
    """
    cell.folder.mkdir(parents=True, exist_ok=True)
    threads = str(max(1, _cores() // jobs))
    with cell.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", CHILD, cell.as_json()],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={"OMP_NUM_THREADS": threads, **os.environ},
        )


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stop(processes: Sequence[Process]) -> None:
    """End what still runs; checkpoints are whole or not there."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_error(log: Path, status: int) -> str:
    """The error at the end of a cell's log; a process that was killed left none."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    if last.startswith(ERROR):
        return last.removeprefix(ERROR)
    return f"its process ended with status {status}: see {log}"
