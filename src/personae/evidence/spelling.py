"""The words of a reply and the tokens that each is made of."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerFast

from personae.text.tokenizer import decode_reply

HALF_A_CHARACTER = "\ufffd"


def word_slices(tokenizer: PreTrainedTokenizerFast, ids: Sequence[int]) -> list[tuple[str, slice]]:
    """Words of the tokens ``ids`` (K), each with its place among them; every token belongs to one word.

    A word goes up to the next leading blank. A token that completes no character belongs to the word of the next
    that does, or at the end to the last word.
    """
    words: list[tuple[str, slice]] = []
    sent, start = "", 0
    for at in range(1, len(ids) + 1):
        text = decode_reply(tokenizer, ids[:at])
        piece, last = text[len(sent) :], at == len(ids)
        if not last and (not piece or text.endswith(HALF_A_CHARACTER)):
            continue
        if not words or piece[:1].isspace():
            words.append((piece.strip(), slice(start, at)))
        else:
            head, place = words[-1]
            words[-1] = (head + piece, slice(place.start, at))
        sent, start = text, at
    return words
