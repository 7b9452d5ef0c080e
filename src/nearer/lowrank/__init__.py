"""Matrices of fixed rank that learn step by step, and the steps that learners of them share."""

from nearer.lowrank.arrays import Factor, Rows, Workspace
from nearer.lowrank.factors import CONDITION, FixedRank, FixedRankPSD

__all__ = ["CONDITION", "Factor", "FixedRank", "FixedRankPSD", "Rows", "Workspace"]
