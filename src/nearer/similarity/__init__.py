"""Similarities of features, learned from class labels or comparisons."""

from nearer.similarity.baselines import baseline_scores, compare
from nearer.similarity.bilinear import BilinearSimilarity
from nearer.similarity.cocoa import CoCoA
from nearer.similarity.comparison_estimator import ComparisonEstimator
from nearer.similarity.euclidean import Euclidean
from nearer.similarity.itml import ITML
from nearer.similarity.lego import LEGO
from nearer.similarity.lmnn import LMNN
from nearer.similarity.low_rank import LORETA, GradientDescent, LowRankSimilarity, PassiveAggressive
from nearer.similarity.neighbors import SearchIndex
from nearer.similarity.oasis import OASIS
from nearer.similarity.rca import RCA
from nearer.similarity.sdca import SDCA
from nearer.similarity.softmax import SoftmaxSimilarity

__all__ = [
    "ITML", "LEGO", "LMNN", "LORETA", "OASIS", "RCA", "SDCA", "BilinearSimilarity", "CoCoA", "ComparisonEstimator",
    "Euclidean", "GradientDescent", "LowRankSimilarity", "PassiveAggressive", "SearchIndex", "SoftmaxSimilarity",
    "baseline_scores", "compare",
]  # fmt: skip
