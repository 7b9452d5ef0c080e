"""Label rankings of features: scores of many labels, learned row by row."""

from nearer.ranking.baselines import baseline_scores, compare
from nearer.ranking.estimator import LabelRanker
from nearer.ranking.solvers import LORETA, SOLVERS, GroupPerceptron, PassiveAggressive, Perceptron, Popularity

__all__ = [
    "LORETA", "SOLVERS", "GroupPerceptron", "LabelRanker", "PassiveAggressive", "Perceptron", "Popularity",
    "baseline_scores", "compare",
]  # fmt: skip
