"""LMNN: a distance in which rows of a class are near and others at least a margin further off."""

from nearer.similarity.lmnn.estimator import LMNN

__all__ = ["LMNN"]
