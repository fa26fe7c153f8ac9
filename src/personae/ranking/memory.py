"""Key-value profile memory: sums of word embeddings, and two looks into memories (Zhang et al. 2018, Section 4.1).

Shapes: B questions, P persona sentences, C candidates, M remembered pairs, D width.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from personae.errors import UserError
from personae.metrics.normalize import normalized_tokens
from personae.ranking.base import Question, Ranker
from personae.text.dialogue import Dialogue
from personae.text.tfidf import TfIdf

TURNS = 1  # utterances that a question is, the newest
MOST = 40_000  # words with an embedding
WIDTH = 256
AT_ONCE = 256


class Network(nn.Module):
    """Texts as unit vectors: the sum of their words' embeddings, at the start random ones as long as their TF-IDF.

    A question looks at the persona sentences that are like it and adds them up. ``sharpness``: how much likeness
    counts, of scores and of looks.
    """

    def __init__(self, idf: Mapping[str, float]) -> None:
        super().__init__()
        self.number = {word: at for at, word in enumerate(idf, 1)}  # 0: a word that nobody knows
        self.words = nn.EmbeddingBag(len(idf) + 1, WIDTH, mode="sum")
        scale = torch.tensor([0.0, *idf.values()])[:, None]
        self.words.weight = nn.Parameter(torch.randn(len(idf) + 1, WIDTH) / WIDTH**0.5 * scale)
        self._numbers: dict[str, list[int]] = {}
        self.sharpness = nn.Parameter(torch.tensor([10.0, 10.0]))

    def texts(self, texts: Sequence[str]) -> Tensor:
        """(N, D) unit vectors of texts; 0 where no word is known."""
        rows = [self.numbers(text) for text in texts]
        starts = torch.tensor([0, *map(len, rows)][:-1]).cumsum(0)
        summed = self.words(torch.tensor([each for row in rows for each in row]), starts)
        return F.normalize(summed, dim=-1)

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's words, remembered."""
        if text not in self._numbers:
            self._numbers[text] = [self.number.get(word, 0) for word in normalized_tokens(text)] or [0]
        return self._numbers[text]

    def questions(self, dialogues: Sequence[Dialogue]) -> Tensor:
        """(B, D) questions, and what the persona has to say to them."""
        asked = self.texts([" ".join(each.sources.get("context", ())[-TURNS:]) for each in dialogues])
        personas = [each.sources.get("persona", ()) or ("",) for each in dialogues]
        counts = [*map(len, personas)]
        sentences = parted(self.texts([text for texts in personas for text in texts]), counts)
        padded = nn.utils.rnn.pad_sequence(sentences, batch_first=True)
        real = torch.arange(padded.shape[1]) < torch.tensor(counts)[:, None]
        return asked + self.look(asked[:, None], padded, padded, real)[:, 0]

    def look(self, asked: Tensor, keys: Tensor, values: Tensor, real: Tensor | None = None) -> Tensor:
        """(..., B, D) mean of ``values`` (..., M, D), each by how like its key is to what is ``asked`` (..., B, D)."""
        likeness = self.sharpness[0] * (asked @ keys.transpose(-1, -2))
        if real is not None:
            likeness = likeness.masked_fill(~real[..., None, :], -torch.inf)
        return likeness.softmax(-1) @ values

    def loss(self, dialogues: Sequence[Dialogue]) -> Tensor:
        """Nats for telling each reply from those of the others in the batch."""
        asked = F.normalize(self.questions(dialogues), dim=-1)
        scores = self.sharpness[1] * asked @ self.texts([each.response for each in dialogues]).T
        return F.cross_entropy(scores, torch.arange(len(dialogues)))


@Ranker.register("kv-memory")
class KeyValueMemory(Ranker):
    """Key-value profile memory, trained on ``training`` in minutes (Zhang et al. 2018; theirs gets 54.8 on ConvAI2).

    The persona is looked at first, in training too; then, when it ranks, the questions of ``training``, whose
    answers are added. The loss here is a softmax over the replies of a batch, not a margin.
    """

    needs_training = True

    def __init__(
        self, training: Sequence[Dialogue], epochs: int = 5, lr: float = 1e-2, batch: int = 256, seed: int = 0
    ) -> None:
        if len(training) < 2:
            raise UserError("the ranker kv-memory needs two training dialogues or more")
        if epochs < 0:
            raise UserError(f"epochs={epochs}: give 0 or more")
        self.settings = {"epochs": epochs, "lr": lr, "batch": batch, "seed": seed}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = Network(vocabulary(training))
            fit(self.network, training, epochs, lr, batch, seed)
        with torch.inference_mode():
            parts = [training[at : at + AT_ONCE] for at in range(0, len(training), AT_ONCE)]
            self.keys = F.normalize(torch.cat([self.network.questions(part) for part in parts]), dim=-1)
            self.values = torch.cat([self.network.texts([each.response for each in part]) for part in parts])

    def facts(self) -> Mapping[str, object]:
        """How it was trained, and what it remembers."""
        return {**self.settings, "pairs": len(self.keys)}

    @torch.inference_mode()
    def scores(self, questions: Sequence[Question]) -> list[Sequence[float]]:
        """See ``Ranker.scores``."""
        found: list[Sequence[float]] = []
        for at in range(0, len(questions), AT_ONCE):
            part = questions[at : at + AT_ONCE]
            asked = self.network.questions([each.dialogue for each in part])
            asked = asked + self.network.look(F.normalize(asked, dim=-1), self.keys, self.values)
            counts = [len(each.candidates) for each in part]
            said = parted(self.network.texts([text for each in part for text in each.candidates]), counts)
            found += [(each @ one).tolist() for each, one in zip(said, F.normalize(asked, dim=-1), strict=True)]
        return found


def parted(rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
    """``rows`` in parts of so many."""
    return list(rows.tensor_split(list(accumulate(counts))[:-1]))


def vocabulary(dialogues: Sequence[Dialogue]) -> dict[str, float]:
    """The commonest words of all that is said, each with its inverse document frequency."""
    texts = [text for each in dialogues for text in (each.response, *each.sources.get("persona", ()))]
    texts += [text for each in dialogues for text in each.sources.get("context", ())[-TURNS:]]
    documents = [normalized_tokens(text) for text in dict.fromkeys(texts)]
    space = TfIdf(documents)
    spread = Counter(word for words in documents for word in set(words))
    chosen = islice(sorted(spread, key=lambda word: (-spread[word], word)), MOST)
    return {word: space.idf[word] for word in chosen}


def fit(network: Network, dialogues: Sequence[Dialogue], epochs: int, lr: float, batch: int, seed: int) -> None:
    """Train with Adam on batches in an order drawn by ``seed``."""
    optimizer = torch.optim.Adam(network.parameters(), lr=lr)
    for part in batches(dialogues, epochs, batch, seed):
        optimizer.zero_grad()
        network.loss(part).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def batches(dialogues: Sequence[Dialogue], epochs: int, size: int, seed: int) -> Iterator[list[Dialogue]]:
    """Batches of two dialogues or more."""
    chance = random.Random(seed)
    for _ in range(epochs):
        order = chance.sample(range(len(dialogues)), len(dialogues))
        parts = [order[at : at + size] for at in range(0, len(order), size)]
        yield from ([dialogues[at] for at in part] for part in parts if len(part) > 1)
