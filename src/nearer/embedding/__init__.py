"""Points from answers alone: ordinal embedding."""

from nearer.embedding.estimator import OrdinalEmbedding
from nearer.embedding.solvers import LBFGS, SGD, SOLVERS, SVRG, Batch

__all__ = ["LBFGS", "SGD", "SOLVERS", "SVRG", "Batch", "OrdinalEmbedding"]
