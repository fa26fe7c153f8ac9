"""Cells as tasks of a Ray cluster."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from personae.compare.engine import Engine, Job, cores
from personae.compare.grid import Cell
from personae.compare.work import attempt
from personae.errors import UserError


@Engine.register("ray")
class Ray(Engine):
    """Tasks of a Ray cluster (RAY_ADDRESS, else this machine); --out and data lie where all its machines see them."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self.ray = import_ray()
        self.ray.init(ignore_reinit_error=True, log_to_driver=False)
        gpus = float(self.ray.cluster_resources().get("GPU", 0.0))
        # A task has a GPU to itself; where there is none, an equal share of this machine's cores.
        threads = int(os.environ.get("OMP_NUM_THREADS", "0")) or max(1, cores() // jobs)
        needs = {"num_gpus": 1} if gpus else {"num_cpus": threads}
        # A worker is used once, so that a cell starts in a fresh process. What fails is for the user to start again.
        self.work = self.ray.remote(**needs, max_calls=1, max_retries=0)(work)
        self.threads = threads

    def start(self, cell: Cell, slot: int) -> Job:
        """A task; Ray picks where."""
        return Task(self.ray, self.work.remote(cell.as_json(), str(Path.cwd()), self.threads))


class Task(Job):
    """One task of Ray."""

    def __init__(self, ray: ModuleType, reference: Any) -> None:
        self.ray, self.reference = ray, reference

    def done(self) -> bool:
        """Whether Ray has its result."""
        return bool(self.ray.wait([self.reference], timeout=0)[0])

    def error(self) -> str | None:
        """The line of the cell, or what Ray says of a task that is lost."""
        try:
            line: str | None = self.ray.get(self.reference)
        except self.ray.exceptions.RayError as error:
            return f"Ray lost its task: {' '.join(str(error).split())[:200]}"
        return line

    def ask_to_stop(self) -> None:
        """Checkpoints are whole or not there."""
        self.ray.cancel(self.reference, force=True)

    def wait_for_end(self) -> None:
        """Until Ray has given it up."""
        self.ray.wait([self.reference], timeout=30)


def work(cell: str, folder: str, threads: int) -> str | None:
    """What a task does: the cell, in the folder that its paths are seen from."""
    import torch  # heavy

    os.chdir(folder)
    torch.set_num_threads(threads)
    return attempt(Cell.from_json(cell))


def import_ray() -> ModuleType:
    """Ray, or a ``UserError`` that says how to get it."""
    try:
        import ray
    except ImportError as error:
        raise UserError("--engine ray needs Ray: pip install 'personae[ray]'") from error
    module: ModuleType = ray
    return module
