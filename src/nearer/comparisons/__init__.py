"""Comparisons: the container that every learner takes, and the same in chunks.

The container is in :mod:`~nearer.comparisons.container`; the other files check rows and columns, expand answers
into rows, select whole answers, concatenate, read headers of tables, and report on the data.
"""

from nearer.comparisons.chunks import ComparisonSource
from nearer.comparisons.container import Comparisons
from nearer.comparisons.random_state import as_generator

__all__ = ["ComparisonSource", "Comparisons", "as_generator"]
