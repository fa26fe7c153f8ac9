"""Source encoder: a BERT-like bidirectional Transformer over one source."""

from typing import Any

from torch import Tensor, nn
from transformers import BertConfig, BertModel

from personae.layers.memory import Encoded


def positions(mask: Tensor) -> Tensor:
    """(B, S) position ids that count real tokens only, so that padding changes nothing."""
    return (mask.long().cumsum(-1) - 1).clamp_min(0)


def positions_back(mask: Tensor) -> Tensor:
    """(B, S) position ids that count back from the last real token, which is 0."""
    return (mask.long().flip(-1).cumsum(-1).flip(-1) - 1).clamp_min(0)


class SourceEncoder(nn.Module):
    """BERT-like encoder (Huang et al. 2023: 4 layers, 4 heads, width 768, from random weights).

    ``options`` are fields of ``BertConfig``. ``pooler`` keeps BERT's pooler, which no source needs: it is
    frozen, and there to hold the published parameter count and to carry a checkpoint's weights on.
    """

    def __init__(self, pooler: bool = False, **options: Any) -> None:
        super().__init__()
        self.bert = BertModel(BertConfig(**options), add_pooling_layer=pooler)
        if self.bert.pooler is not None:
            self.bert.pooler.requires_grad_(False)

    @property
    def width(self) -> int:
        """Width of the states."""
        return int(self.bert.config.hidden_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        position_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Encoded:
        """Encode (B, S) ids with their mask; positions come from the mask unless given.

        A token's type is a token too, whose embedding is added (Wolf et al. 2019).
        """
        where = positions(attention_mask) if position_ids is None else position_ids
        words = self.bert.embeddings.word_embeddings
        embedded = words(input_ids) if token_type_ids is None else words(input_ids) + words(token_type_ids)
        states = self.bert(inputs_embeds=embedded, attention_mask=attention_mask, position_ids=where).last_hidden_state
        return Encoded(states, attention_mask.bool())
