"""A narrow Transformer encoder-decoder whose feed-forward layers are convolutions, asking one source or several."""

from transformers import AutoConfig, AutoModelForCausalLM

from personae.models.seq2seq.config import Seq2seqConfig
from personae.models.seq2seq.model import Seq2seqModel

AutoConfig.register(Seq2seqConfig.model_type, Seq2seqConfig)
AutoModelForCausalLM.register(Seq2seqConfig, Seq2seqModel)

__all__ = ["Seq2seqConfig", "Seq2seqModel"]
