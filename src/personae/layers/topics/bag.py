"""Bags of words over a topic vocabulary. Shapes: B batch, S tokens, V vocabulary, N topic words."""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from personae.errors import UserError

# How tokenizers write the blank before a word.
BLANKS = ("Ġ", "▁", " ")
LEAST = 2


class BagOfWords(nn.Module):
    """Counts topic words. ``topic_of`` (V,) is a token's number among them, N where it is none.

    Until ``choose`` the first N ids that are not ``special`` stand for topic words.
    """

    topic_of: Tensor

    def __init__(self, vocabulary: int, size: int, special: Sequence[int] = ()) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("topic_of", torch.full((vocabulary,), size))
        self.choose([token for token in range(vocabulary) if token not in special][:size])

    def choose(self, tokens: Sequence[int]) -> None:
        """Count these tokens and no others, at most N."""
        self.topic_of.fill_(self.size)
        self.topic_of[torch.tensor(tokens, dtype=torch.long)] = torch.arange(len(tokens)).to(self.topic_of)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Counts (B, N), as floats, of ids (B, S) where ``mask`` (B, S) is True."""
        topics = self.topic_of[ids.where(mask, 0)].where(mask, self.size)
        counts = torch.zeros(len(ids), self.size + 1, device=ids.device)
        return counts.scatter_add(1, topics, torch.ones_like(topics, dtype=counts.dtype))[:, :-1]


def topic_words(rows: Iterable[Iterable[int]], tokens: Sequence[str], size: int, most: float) -> list[int]:
    """The ``size`` most frequent words in ``rows`` of ids that may tell a topic.

    They are whole words of letters, in two rows at least and in no more than a share ``most`` of the rows: what stands
    in more is taken for a stop word, in whatever language. ``tokens``: the tokenizer's spelling of each id. Raises
    ``UserError`` where no word is left.
    """
    found: Counter[int] = Counter()
    seen = 0
    for row in rows:
        found.update(set(row))
        seen += 1
    spelt = {token for token in found if tokens[token].startswith(BLANKS) and tokens[token][1:].isalpha()}
    fit = [token for token in spelt if len(tokens[token]) > LEAST and LEAST <= found[token] <= most * seen]
    if not fit:
        raise UserError(
            f"the topic vocabulary is empty: no word stands in {LEAST} of the {seen} training examples and in at most "
            f"a share {most:g} of them; raise model.options.topic_most, or choose a parameterisation without topics"
        )
    return sorted(sorted(fit, key=lambda token: (-found[token], token))[:size])
