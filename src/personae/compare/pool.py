"""Every cell of a comparison, one at a time in this process or several in processes of their own."""

import time
from collections.abc import Callable, Sequence

from personae.compare import ray_engine as _ray  # noqa: F401  (registers it; Ray itself is imported when asked for)
from personae.compare.engine import Engine, Job
from personae.compare.grid import Cell
from personae.compare.work import Tell, attempt
from personae.errors import UserError

Hear = Callable[[str], None]

LOCAL = "local"
PAUSE = 0.1


def run_cells(
    cells: Sequence[Cell],
    jobs: int = 1,
    hear: Hear | None = None,
    tell: Callable[[Cell], Tell] | None = None,
    engine: str = LOCAL,
) -> dict[str, str]:
    """Run the cells that are not finished, ``jobs`` at a time, and return one line for each that failed, by label.

    One at a time on the engine ``local`` runs in this process; ``tell(cell)`` then hears of its progress. All else
    runs in processes that the engine starts. ``hear`` hears a line when a cell begins or ends. An interruption
    stops all of them; what they wrote stays, and the next ``run_cells`` goes on from there. Raises ``UserError``
    for an unknown engine, and for one that is not installed.
    """
    if jobs < 1:
        raise UserError(f"jobs={jobs}: run at least 1 cell at a time")
    kind = Engine.get(engine)
    hear = hear or (lambda _: None)
    todo = [cell for cell in cells if not cell.finished]
    if len(todo) < len(cells):
        hear(f"{len(cells) - len(todo)} of {len(cells)} runs are finished already")
    if todo and (engine != LOCAL or min(jobs, len(todo)) > 1):
        return _side_by_side(todo, kind(min(jobs, len(todo))), hear)
    failed: dict[str, str] = {}
    for cell in todo:
        hear(f"{cell.label}: begins")
        start = time.monotonic()
        line = attempt(cell, tell(cell) if tell else None)
        _ended(cell, line, time.monotonic() - start, failed, hear)
    return failed


def _side_by_side(cells: Sequence[Cell], engine: Engine, hear: Hear) -> dict[str, str]:
    waiting, failed = list(cells), dict[str, str]()
    running: dict[int, tuple[Cell, Job, float]] = {}
    try:
        while waiting or running:
            for slot in sorted({*range(engine.jobs)} - running.keys())[: len(waiting)]:
                cell = waiting.pop(0)
                cell.folder.mkdir(parents=True, exist_ok=True)
                running[slot] = cell, engine.start(cell, slot), time.monotonic()
                hear(f"{cell.label}: begins, see {cell.log}")
            time.sleep(PAUSE)
            for slot in [each for each, (_, job, _) in running.items() if job.done()]:
                cell, job, start = running.pop(slot)
                _ended(cell, job.error(), time.monotonic() - start, failed, hear)
    finally:
        _stop([job for _, job, _ in running.values()])
    return failed


def _ended(cell: Cell, line: str | None, seconds: float, failed: dict[str, str], hear: Hear) -> None:
    if line is None:
        hear(f"{cell.label}: done in {seconds:,.0f} s")
    else:
        failed[cell.label] = line
        hear(f"{cell.label}: failed after {seconds:,.0f} s")


def _stop(jobs: Sequence[Job]) -> None:
    """End what still runs."""
    for job in jobs:
        job.ask_to_stop()
    for job in jobs:
        job.wait_for_end()
