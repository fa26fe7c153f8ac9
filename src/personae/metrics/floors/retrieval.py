"""What somebody once answered in the situation most like this one.

Shapes: N training dialogues, P of them with a word.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from personae.errors import UserError
from personae.metrics.floors.base import Floor, spread
from personae.metrics.normalize import normalized_tokens
from personae.text.dialogue import Dialogue
from personae.text.tfidf import TfIdf

Posting = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


@Floor.register("retrieval")
class Retrieval(Floor):
    """The reply of the training dialogue whose last utterance and persona are nearest by TF-IDF cosine.

    Of equally near ones the first counts.
    """

    needs_training = True

    def __init__(self, training: Sequence[Dialogue], pool: int = 20_000) -> None:
        """Look among ``pool`` dialogues of ``training``, evenly spaced."""
        chosen = spread(training, pool)
        if not chosen:
            raise UserError("the retrieval floor finds no training replies: give another split")
        words = [situation(dialogue) for dialogue in chosen]
        self.space = TfIdf(words)
        self.answers = [dialogue.response for dialogue in chosen]
        self.postings = index([self.space.vector(each) for each in words])

    def facts(self) -> dict[str, object]:
        """How many it looks among."""
        return {"pool": len(self.answers)}

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """What was answered there."""
        scores = np.zeros(len(self.answers), np.float32)
        for word, weight in self.space.vector(situation(dialogue)).items():
            numbers, weights = self.postings[word]
            scores[numbers] += np.float32(weight) * weights
        return self.answers[int(np.argmax(scores))]


def situation(dialogue: Dialogue) -> list[str]:
    """The words that decide what is near."""
    sources = dialogue.sources
    return normalized_tokens(" ".join([*sources.get("context", ())[-1:], *sources.get("persona", ())]))


def index(vectors: Sequence[dict[str, float]]) -> dict[str, Posting]:
    """By word the numbers (P) of the vectors that have it, and its weights (P) in them."""
    found: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for number, vector in enumerate(vectors):
        for word, weight in vector.items():
            numbers, weights = found[word]
            numbers.append(number)
            weights.append(weight)
    return {word: (np.array(one), np.array(two, np.float32)) for word, (one, two) in found.items()}
