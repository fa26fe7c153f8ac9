"""Known evidence: do attention and leave-one-out point at the texts that gold replies rest on?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from personae.errors import UserError
from personae.evaluation.judge import Tell
from personae.evaluation.scores import Scores, applicable, as_plain, stamped
from personae.evaluation.settings import Settings, facts
from personae.evidence.explained import Explained
from personae.evidence.explainer import Explainer
from personae.metrics import Metric, Reply, Score, measure_all
from personae.metrics.evidence import EvidenceMetric
from personae.metrics.reply import Weighed
from personae.runs import Run
from personae.text.dialogue import Dialogue

AT_ONCE = 16
ALL, CHANCE = "all", "chance"
KIND = "kind"


@dataclass(frozen=True)
class EvidenceScores:
    """Scores by kind of question; ``all`` is over every reply with known evidence, ``chance`` what a blind choice gets.

    ``view``: what the attention view rests on, a key of ``VIEWS``.
    """

    rows: Mapping[str, Scores]
    view: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON, and for a record under results/."""
        return {"view": self.view, "evidence": {name: as_plain(each) for name, each in self.rows.items()}, **self.facts}


def score(
    run: Run,
    paths: Sequence[str | Path],
    *,
    reader: str | None = None,
    limit: int | None = None,
    tell: Tell | None = None,
) -> EvidenceScores:
    """Explain the gold replies of ``paths`` that have known evidence and score both views.

    ``limit`` takes the first so many examples. Raises ``UserError`` where run or data cannot be read, or no reply
    has evidence beside the turn that it answers.
    """
    recipe = run.recipe()
    settings = Settings(recipe.decoding, limit)
    data = settings.read(paths, reader, recipe.data.on_error)
    asked = [each for each in data.dialogues if any(each.evidence.values())]
    if not asked:
        raise UserError(
            f"{', '.join(map(str, paths))}: no turn says what it rests on ('evidence'): "
            f"score a corpus that does, such as interview"
        )
    replies, view = weigh_all(load_explainer(run), asked, tell)
    stamp = {**settings.stamp(data), "replies": "gold", "view": view}
    known = facts(run, paths, data, settings)
    kept = {**{key: known[key] for key in ("run", "data", "versions")}, "examples_with_evidence": len(asked)}
    return EvidenceScores(rows(replies, stamp), view, kept)


def load_explainer(run: Run) -> Explainer:
    """What explains the replies of ``run``'s model, in float32."""
    tokenizer = run.tokenizer()
    model: Any = run.model()
    model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"), torch.float32)
    return Explainer(model, tokenizer, run.packer(tokenizer))


def weigh_all(explainer: Explainer, dialogues: Sequence[Dialogue], tell: Tell | None) -> tuple[list[Reply], str]:
    """The gold reply of each dialogue with its texts weighed, and what the attention view is."""
    found: list[Reply] = []
    view = ""
    for start in range(0, len(dialogues), AT_ONCE):
        if tell:
            tell("explaining", start, len(dialogues))
        some = dialogues[start : start + AT_ONCE]
        for dialogue, explained in zip(some, explainer.explain_all(some), strict=True):
            view = explained.view
            found.append(weighed_reply(dialogue, explained))
    if tell:
        tell("explaining", len(dialogues), len(dialogues))
    return found, view


def weighed_reply(dialogue: Dialogue, explained: Explained) -> Reply:
    """A gold reply ready for ``Metric.measure``, with what its texts weigh."""
    return Reply(
        prediction=dialogue.response,
        references=dialogue.golds,
        conversation=dialogue.conversation,
        answer=dialogue.answer,
        tags=dialogue.tags,
        weighed=weigh(dialogue, explained),
    )


def weigh(dialogue: Dialogue, explained: Explained) -> Weighed:
    """What the texts weigh; the question is the last turn of the source that has speakers."""
    places = {(text.source, text.position): at for at, text in enumerate(explained.texts)}
    known = [(source, at) for source, positions in dialogue.evidence.items() for at in positions]
    asked = [places.get((name, len(roles) - 1)) for name, roles in dialogue.roles.items() if roles]
    return Weighed(
        known=tuple(places[origin] for origin in known if origin in places),
        attention=tuple(explained.by_attention),
        leave_one_out=tuple(explained.by_leave_one_out),
        question=asked[0] if asked else None,
    )


def rows(replies: Sequence[Reply], stamp: Mapping[str, object]) -> dict[str, Scores]:
    """Scores of all replies, of each kind, and what chance gives."""
    kinds = sorted({reply.tags[KIND] for reply in replies if reply.tags.get(KIND)})
    groups = {ALL: list(replies)} | {kind: [each for each in replies if each.tags.get(KIND) == kind] for kind in kinds}
    found = {
        name: measured(group, {**stamp, **({} if name == ALL else {KIND: name})}) for name, group in groups.items()
    }
    if not found[ALL]:
        raise UserError("no reply has known evidence beside the turn that it answers: there is nothing to choose from")
    chance = {name: at_chance(each) for name, each in found[ALL].items()}
    return {**{name: scores for name, scores in found.items() if scores}, CHANCE: chance}


def measured(replies: Sequence[Reply], stamp: Mapping[str, object]) -> Scores:
    """Every metric on evidence that applies."""
    known = {name: Metric.build(name) for name in Metric.names() if issubclass(Metric.get(name), EvidenceMetric)}
    metrics = applicable(replies, known, EvidenceMetric)
    return {name: stamped(each, stamp) for name, each in measure_all(metrics, replies).items()} if metrics else {}


def at_chance(score: Score) -> Score:
    """What a blind choice gets, which the signature says; of a correlation, 0."""
    fields = dict(part.split(":", 1) for part in score.signature.split("|")[1:])
    return Score(float(fields.get(CHANCE, 0)), score.signature)
