"""METEOR by the METEOR 1.5 program, which the user has: the published number, all stages."""

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.meteor_score import MeteorSums, without_whole
from personae.metrics.reply import Reply
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed

SUMS = MeteorSums()
OPTIONS = ("-", "-", "-stdio", "-l", "en", "-norm")
HELP = "give the meteor-1.5.jar (in PyPI's pycocoevalcap, with its data folder beside it) and install Java"


@Metric.register("meteor")
class Meteor(Summed):
    """METEOR 1.5 (Denkowski and Lavie 2014) by its own program, 0 to 1, as the COCO caption tools call it.

    ``jar`` is the path of meteor-1.5.jar; Java runs it with "-l en -norm", once for every 4096 replies. The score is
    that of summed counts, over the best reference each, as the program's own final score.
    """

    default = False
    width = MeteorSums.width

    def __init__(self, jar: str | Path | None = None) -> None:
        self.jar = None if jar is None else Path(jar)

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether there are a program and references."""
        return self.jar is not None and super().applies(replies)

    def statistics(self, chunk: Chunk) -> Floats:
        """The program's counts (N, 23): see ``MeteorSums``."""
        lines = [" ||| ".join(["SCORE", *map(_plain, (*each.references, each.prediction))]) for each in chunk.replies]
        rows = [row.split() for row in self._run("\n".join(lines) + "\n").splitlines()]
        if len(rows) != len(lines) or any(len(row) != self.width for row in rows):
            raise UserError(f"{self.jar} gave no {self.width} counts for each reply: {HELP}")
        return without_whole(np.array(rows, float))

    def combine(self, sums: Floats) -> Floats:
        """METEOR of sums (R, 23)."""
        return SUMS.score(sums)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """The program and its parameters."""
        digest = hashlib.sha256(self._path().read_bytes()).hexdigest()[:12]
        return {"jar": digest, "options": "-l-en-norm", **SUMS.fields(), "refs": "best"}

    def _path(self) -> Path:
        if self.jar is None or not self.jar.is_file():
            raise UserError(f"meteor needs the METEOR program, but {self.jar or 'no path'} is no file: {HELP}")
        return self.jar.resolve()

    def _run(self, lines: str) -> str:
        command = ["java", "-Xmx2G", "-jar", str(self._path()), *OPTIONS]
        try:
            done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=True)
        except FileNotFoundError as error:
            raise UserError(f"meteor needs Java, which is not installed: {HELP}") from error
        except subprocess.CalledProcessError as error:
            said = (error.stderr.strip().splitlines() or ["no message"])[0]
            raise UserError(f"{self.jar} failed: {said}; {HELP}") from error
        return done.stdout


def _plain(text: str) -> str:
    """``text`` on one line without the program's own separator."""
    return " ".join(text.replace("|||", " ").split())
