"""A similarity or distance of low rank, learned online."""

from nearer.similarity.low_rank.estimator import LowRankSimilarity
from nearer.similarity.low_rank.solvers import LORETA, GradientDescent, PassiveAggressive

__all__ = ["LORETA", "GradientDescent", "LowRankSimilarity", "PassiveAggressive"]
