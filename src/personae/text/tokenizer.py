"""GPT-2's byte-level BPE from a folder or the hub, or a byte-level BPE trained on the corpus at hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, GPT2Tokenizer, PreTrainedTokenizerFast

from personae.errors import UserError

SEPARATOR, PARTNER_MARK, SELF_MARK, PERSONA_MARK = "[SEP]", "Q:", "R:", "P:"
CLASSIFY, BEGIN, END, PAD = "[CLS]", "[BOS]", "[EOS]", "[PAD]"
# The order in which Huang et al. append them, so that their ids (50257 to 50264 after GPT-2's) hold.
SPECIAL_TOKENS = (SEPARATOR, PARTNER_MARK, SELF_MARK, PERSONA_MARK, CLASSIFY, BEGIN, END, PAD)


def load_tokenizer(where: str | Path) -> PreTrainedTokenizerFast:
    """Load a tokenizer and make sure that it has the special tokens.

    ``where`` is a local folder (a saved tokenizer, or GPT-2's ``vocab.json`` and ``merges.txt``) or a hub
    name. Raises ``UserError`` where neither can be read.
    """
    folder = Path(where)
    plain = (folder / "vocab.json").is_file() and not (folder / "tokenizer.json").is_file()
    loaded: Any
    try:
        if plain:
            loaded = GPT2Tokenizer(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))
        else:
            loaded = AutoTokenizer.from_pretrained(str(where))
    except Exception as error:  # the libraries raise errors of every kind, bare Exception among them
        raise UserError(
            f"no tokenizer in '{where}': give a folder with tokenizer.json, or vocab.json and merges.txt, "
            f"or a hub name that can be reached"
        ) from error
    return with_special_tokens(loaded)


def train_tokenizer(texts: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE with at most ``size`` tokens, special tokens included, on ``texts``."""
    smallest = 256 + len(SPECIAL_TOKENS)
    if size < smallest:
        raise UserError(f"text.vocabulary={size} is too small: a byte-level vocabulary needs {smallest} or more")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # A leading blank makes a word the same token wherever it stands; the packer encodes so too.
    tokenizer.train_from_iterator((f" {text}" for text in texts), trainer)
    return with_special_tokens(PreTrainedTokenizerFast(tokenizer_object=tokenizer))


def with_special_tokens(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """Append the special tokens that are missing, in their fixed order, and name begin, end and pad."""
    tokenizer.add_tokens([token for token in SPECIAL_TOKENS if token not in tokenizer.get_vocab()], special_tokens=True)
    tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token = BEGIN, END, PAD
    tokenizer.padding_side = "left"
    return tokenizer


def decode_reply(tokenizer: PreTrainedTokenizerFast, ids: Iterable[int]) -> str:
    """Return the text of a reply: what stands before the first end token, without special tokens."""
    kept: list[int] = []
    for token in ids:
        if token == tokenizer.eos_token_id:
            break
        kept.append(token)
    return str(tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False)).strip()
