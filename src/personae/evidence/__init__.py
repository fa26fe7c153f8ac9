"""Evidence: which source, sentence and turn a reply rests on, by where a model looked and by leaving one out."""

from personae.evidence.explained import Explained, Text, Word
from personae.evidence.explainer import Explainer
from personae.evidence.shares import Evidence, Piece, Recorder, average, mean_shares, merge, norms, words

__all__ = [
    "Evidence",
    "Explained",
    "Explainer",
    "Piece",
    "Recorder",
    "Text",
    "Word",
    "average",
    "mean_shares",
    "merge",
    "norms",
    "words",
]
