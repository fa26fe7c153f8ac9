"""How a reply is searched: settings, and the beam searches that transformers does not have."""

from personae.decoding.settings import PUBLISHED, Decoding

__all__ = ["PUBLISHED", "Decoding"]
