"""Consistency: does a reply follow from the persona? A small classifier trained offline, with its own accuracy."""

from personae.consistency.checker import Checker, read_about
from personae.consistency.exam import examine, examine_all
from personae.consistency.labels import read_names
from personae.consistency.made import make_interview, make_pairs
from personae.consistency.nli import make_source, read_nli
from personae.consistency.training import adopt_checker, train_checker

__all__ = [
    "Checker",
    "adopt_checker",
    "examine",
    "examine_all",
    "make_interview",
    "make_pairs",
    "make_source",
    "read_about",
    "read_names",
    "read_nli",
    "train_checker",
]
