"""Metrics of maps and similarities: comparisons that are violated, fit to known points, and retrieval.

:mod:`~nearer.metrics.maps` is about points, :mod:`~nearer.metrics.retrieval` about rankings of labelled objects,
:mod:`~nearer.metrics.label_ranking` about rankings of labels, :mod:`~nearer.metrics.agreement` about two sets of
answers; :mod:`~nearer.metrics.scorer` scores a model by its rankings, also inside scikit-learn's searches.
"""

from nearer.metrics.agreement import agreement
from nearer.metrics.label_ranking import label_ranking_map
from nearer.metrics.maps import Alignment, procrustes, triplet_error
from nearer.metrics.retrieval import average_precisions, mean_average_precision, precision_at_k, recall_at_k
from nearer.metrics.scorer import retrieval_map_scorer

__all__ = [
    "Alignment", "agreement", "average_precisions", "label_ranking_map", "mean_average_precision", "precision_at_k",
    "procrustes", "recall_at_k", "retrieval_map_scorer", "triplet_error",
]  # fmt: skip
