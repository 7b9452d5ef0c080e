"""Comparisons: the one container that every learner takes, and the same in chunks.

The container is in :mod:`~nearer.comparisons.container`; beside it one file each for checking rows and columns,
turning answers into rows, selecting whole answers, joining, headers of tables, and the report on the data.
"""

from nearer.comparisons.container import Comparisons
from nearer.comparisons.random_state import as_generator
from nearer.comparisons.sources import ComparisonSource

__all__ = ["ComparisonSource", "Comparisons", "as_generator"]
