"""Drift: does a model keep to its persona in a long conversation with itself? Right answers, C-score and repetition
by turn."""

from personae.drift.casting import Cast, make_casts
from personae.drift.curve import Curve, Point
from personae.drift.measure import POINTS, Settings, measure_drift
from personae.drift.report import write_drift

__all__ = ["POINTS", "Cast", "Curve", "Point", "Settings", "make_casts", "measure_drift", "write_drift"]
