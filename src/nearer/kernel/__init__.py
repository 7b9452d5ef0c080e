"""A positive semidefinite kernel from answers alone: online (ERKLE), or as the optimum of a convex program."""

from nearer.kernel.batch import ComparisonKernel
from nearer.kernel.online import OnlineKernel

__all__ = ["ComparisonKernel", "OnlineKernel"]
