"""Scoring: any predictions, from this tool or another, beside the floors, with no model and no torch."""

from personae.scoring.files import Predictions, open_predictions
from personae.scoring.published import published, published_datasets
from personae.scoring.score import Scoring, score

__all__ = ["Predictions", "Scoring", "open_predictions", "published", "published_datasets", "score"]
