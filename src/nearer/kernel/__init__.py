"""A positive semidefinite kernel from answers alone: online (ERKLE), or as the optimum of a convex program."""

from nearer.kernel.comparison_kernel import ComparisonKernel
from nearer.kernel.online_kernel import OnlineKernel

__all__ = ["ComparisonKernel", "OnlineKernel"]
