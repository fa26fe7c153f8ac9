"""Checkpoints to resume from: marked once they are whole, so that a crash leaves none that misleads."""

import json
import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

MARK = "complete"


class MarkComplete(TrainerCallback):
    """Marks a checkpoint once all its files are written, and only then drops all but the newest ``keep``."""

    def __init__(self, keep: int) -> None:
        self.keep = keep

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Log wherever a checkpoint is saved: a mean over steps on both sides of it could not be resumed."""
        if control.should_save:
            control.should_log = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Leave the mark, with the size of every file."""
        if state.is_world_process_zero:
            folder = Path(str(args.output_dir))
            mark(folder / f"checkpoint-{state.global_step}")
            for stale in in_order(folder)[: -self.keep]:
                shutil.rmtree(stale)


def mark(checkpoint: Path) -> None:
    """Write down that ``checkpoint`` is whole, and how large its files are."""
    sizes = {path.name: path.stat().st_size for path in checkpoint.iterdir() if path.name != MARK}
    (checkpoint / MARK).write_text(json.dumps(sizes), encoding="utf-8")


def is_complete(checkpoint: Path) -> bool:
    """Whether ``checkpoint`` was written to its end and still has all of it."""
    try:
        sizes = json.loads((checkpoint / MARK).read_text(encoding="utf-8"))
        return all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def in_order(folder: Path) -> list[Path]:
    """All checkpoints in ``folder``, oldest first."""
    return sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint; a half-written one is passed over."""
    return next((path for path in reversed(in_order(folder)) if is_complete(path)), None)
