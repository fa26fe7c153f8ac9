"""interview: a corpus that the package generates itself, in which every reply knows the source it rests on.

A persona holds six facts of different families; the partner asks for them (kind ``persona``), for what the
partner said earlier (``context``), whether both agree (``both``), or makes small talk (``neither``). Two test
splits ask for combinations and for values that training never shows.
"""

from personae.data.interview.corpus import DEFAULT_SIZES, generate, write
from personae.data.interview.splits import FAMILIES, SPLITS

__all__ = ["DEFAULT_SIZES", "FAMILIES", "SPLITS", "generate", "write"]
