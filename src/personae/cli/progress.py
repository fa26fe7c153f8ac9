"""The progress of training on standard error: a bar in a terminal, else one plain line per log."""

import os
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

HOUR = 3600.0


def leads() -> bool:
    """Whether this process speaks for all those that ``torchrun`` started."""
    return os.environ.get("RANK", "0") == "0"


class Progress:
    """Hears every log line of training through ``tell``."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(file=sys.stderr)
        self.step = 0
        self.first: tuple[float, int] | None = None
        self.values: dict[str, float] = {}
        self.task: TaskID | None = None
        self.bar = Bar(
            *(TextColumn("step"), MofNCompleteColumn(), BarColumn(bar_width=None), TextColumn("{task.description}")),
            *(TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()),
            console=self.console,
            expand=True,
            speed_estimate_period=HOUR,
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal and leads():
            self.bar.start()
            self.task = self.bar.add_task("reading data", total=None, start=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the bar as it is."""
        if self.task is not None:
            self.bar.stop()
            self.task = None

    def tell(self, step: int, of: int, values: Mapping[str, float]) -> None:
        """Show a log line: training's has ``loss``, validation's ``eval_perplexity``; others are passed over."""
        named = {"loss": "loss", "eval_perplexity": "validation perplexity"}
        news = {label: float(values[key]) for key, label in named.items() if key in values}
        self.step = step
        self.values |= news
        if self.first is None:
            self.first = (time.monotonic(), step)
            self._begin(step, of)
        if self.task is not None:
            self.bar.update(self.task, completed=step, description=text(self.values))
        elif news:
            print(f"step {step}/{of}  {text(news)}  {self.clock(step, of)}", file=sys.stderr, flush=True)

    def _begin(self, step: int, of: int) -> None:
        """Start the clock, at ``step`` where a run goes on, so that the time left is not guessed too low."""
        if self.task is not None:
            self.bar.remove_task(self.task)
            self.task = self.bar.add_task("", total=of, completed=step)

    def clock(self, step: int, of: int) -> str:
        """Time since the first log line, and time left at that speed."""
        assert self.first is not None
        since, start = self.first
        elapsed = time.monotonic() - since
        if step <= start:
            return f"{clock(elapsed)} elapsed"
        return f"{clock(elapsed)} elapsed, {clock(elapsed * (of - step) / (step - start))} left"


def text(values: Mapping[str, float]) -> str:
    """The values of a log line in words."""
    return "  ".join(f"{label} {value:.4g}" for label, value in values.items())


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))
