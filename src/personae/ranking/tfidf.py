"""Rankers that compare words: the candidate whose TF-IDF vector is nearest to what was said."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from personae.metrics.normalize import normalized_tokens
from personae.ranking.base import Question, Ranker
from personae.text.dialogue import Dialogue
from personae.text.tfidf import TfIdf, Vector, cosine


@Ranker.register("tfidf")
class NearestWords(Ranker):
    """Cosine of TF-IDF vectors with the last utterance and the persona: 51.6 % Hits@1 on ConvAI2 validation.

    Words are ParlAI's normalised ones, document frequencies those in the candidates of all questions.
    """

    floor = True
    persona: ClassVar[bool] = True
    last: ClassVar[bool] = True

    def facts(self) -> Mapping[str, object]:
        """What words and frequencies are."""
        return {"words": "parlai", "idf": "candidates"}

    def scores(self, questions: Sequence[Question]) -> list[Sequence[float]]:
        """See ``Ranker.scores``."""
        cut = {text: normalized_tokens(text) for one in questions for text in one.candidates}
        space = TfIdf(cut[text] for one in questions for text in one.candidates)
        vectors: dict[str, Vector] = {text: space.vector(words) for text, words in cut.items()}
        asked = [space.vector(normalized_tokens(" ".join(self.said(one.dialogue)))) for one in questions]
        return [
            [cosine(query, vectors[text]) for text in one.candidates]
            for query, one in zip(asked, questions, strict=True)
        ]

    def said(self, dialogue: Dialogue) -> tuple[str, ...]:
        """The texts that candidates are compared with."""
        context = dialogue.sources.get("context", ())[-1:] if self.last else ()
        return (*context, *(dialogue.sources.get("persona", ()) if self.persona else ()))


@Ranker.register("tfidf:persona")
class NearestToPersona(NearestWords):
    """``tfidf`` with the persona alone: 41.8 % Hits@1 on ConvAI2 validation."""

    last = False


@Ranker.register("tfidf:last")
class NearestToLast(NearestWords):
    """``tfidf`` with the last utterance alone: 25.9 % Hits@1 on ConvAI2 validation."""

    persona = False
