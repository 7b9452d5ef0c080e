"""Rankings of labels by features: which of thousands of labels are true of a row."""

from nearer.ranking.estimator import LabelRanker

__all__ = ["LabelRanker"]
