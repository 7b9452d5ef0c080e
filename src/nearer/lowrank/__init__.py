"""Matrices of fixed rank that learn step by step, and the steps that learners of them share."""

from nearer.lowrank.arrays import Factor, Rows, Workspace
from nearer.lowrank.factors import FixedRank, FixedRankPSD, product_svd, run_steps
from nearer.lowrank.stream import PassSampler, Stream

__all__ = [
    "Factor", "FixedRank", "FixedRankPSD", "PassSampler", "Rows", "Stream", "Workspace", "product_svd",
    "run_steps",
]  # fmt: skip
