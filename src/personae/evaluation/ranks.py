"""Candidate replies put in order: by the model, and by the rankers that cost nothing."""

from collections.abc import Sequence
from typing import cast

from personae.evaluation.scores import Candidate
from personae.evaluation.settings import UNRANKED, Settings
from personae.evaluation.speaker import Speaker
from personae.metrics import Reply
from personae.metrics.hits import Ranked
from personae.ranking import Ranker
from personae.ranking.model import ModelRanker
from personae.runs import Run
from personae.text.dialogue import Dialogue


def make_ranker(settings: Settings, run: Run, speaker: Speaker) -> Ranker | None:
    """The ranker that was asked for, with the model of ``speaker``; what it cuts is not counted a second time."""
    if settings.candidates == UNRANKED:
        return None
    kind = cast(type[ModelRanker], Ranker.get(settings.candidates))
    return kind(speaker.model, run.packer(speaker.tokenizer), settings.batch)


def unasked(settings: Settings, speaker: Speaker, dialogues: Sequence[Dialogue]) -> list[str]:
    """A note where a candidate head and candidates are there, and nobody asked for them."""
    if settings.candidates != UNRANKED or not speaker.model.ranks or not all(each.distractors for each in dialogues):
        return []
    return ["the model has a candidate head and the data have candidates: --candidates head ranks them"]


def rank_floors(dialogues: Sequence[Dialogue]) -> dict[str, Candidate]:
    """The rankings of every ranker that costs nothing; they say nothing, so only rankings are scored."""
    names = [name for name in Ranker.names() if Ranker.get(name).floor]
    return {name: rank_floor(name, dialogues) for name in names}


def rank_floor(name: str, dialogues: Sequence[Dialogue]) -> Candidate:
    """The rankings of the floor called ``name``."""
    ranker = Ranker.build(name)
    pairs = zip(dialogues, ranker.rank(dialogues), strict=True)
    replies = [Reply("", (), each.conversation, tags=each.tags, ranking=ranking) for each, ranking in pairs]
    return Candidate(replies, {"ranker": name, **ranker.facts()}, only=Ranked)


def ranked(model: Candidate | None, dialogues: Sequence[Dialogue]) -> bool:
    """Whether the model ranked candidates that can be ranked again."""
    rankings = [] if model is None else [reply.ranking for reply in model.replies]
    return bool(rankings) and None not in rankings and all(each.distractors for each in dialogues)
