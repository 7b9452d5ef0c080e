"""Similarities of low rank that learn online."""

from nearer.similarity.low_rank.estimator import LowRankSimilarity

__all__ = ["LowRankSimilarity"]
