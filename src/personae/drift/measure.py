"""Measuring drift: long self-chats, probed and scored at some turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from personae.decoding import Decoding
from personae.drift.casting import Cast
from personae.drift.curve import Curve, Point, score_point
from personae.drift.probes import probe
from personae.drift.selfchat import Answering, Conversation, take_turn
from personae.errors import UserError
from personae.evaluation.speaker import Speaker
from personae.metrics.c_score import Judge
from personae.runs import Run

POINTS = (1, 2, 5, 10, 20, 50, 100)
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Settings:
    """``turns`` of each conversation after ``opener``; ``batch`` replies at once; ``seed`` of questions, sampling."""

    turns: int = 100
    opener: str = "hello ."
    batch: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.turns <= 1000:
            raise UserError(f"--turns {self.turns}: talk for 1 to 1000 turns")
        if self.batch < 1:
            raise UserError(f"--batch {self.batch}: answer at least 1 at once")
        if not self.opener.strip():
            raise UserError("--opener is empty: say something to answer")

    @property
    def points(self) -> list[int]:
        """The turns that are measured, the last one among them."""
        return [*(point for point in POINTS if point < self.turns), self.turns]


def measure_drift(
    run: Run,
    casts: Sequence[Cast],
    settings: Settings,
    decoding: Decoding | None = None,
    judge: Judge | None = None,
    tell: Tell | None = None,
) -> Curve:
    """Let the model of ``run`` talk to itself in the roles of ``casts``; score it at ``settings.points``.

    ``decoding`` is the recipe's unless given. At each point whoever spoke last is asked for every fact of its
    persona (interview only), beside the conversation. Raises ``UserError`` for settings that the model cannot follow.
    """
    speaker = Speaker(run, decoding or run.recipe().decoding)
    answer = Answering(speaker, settings.batch, settings.seed)
    conversations = [Conversation(cast, settings.opener) for cast in casts]
    points: list[Point] = []
    start, before = 1, 0
    for turn in range(1, settings.turns + 1):
        take_turn(conversations, answer)
        if turn in settings.points:
            lost = (answer.lost() - before) / (len(casts) * (turn - start + 1))
            probes = probe(conversations, answer, settings.seed)
            points.append(Point(turn, start, score_point(conversations, start, probes, judge), lost))
            start, before = turn + 1, answer.lost()
        if tell:
            tell("talking", turn, settings.turns)
    return Curve(points, conversations)
