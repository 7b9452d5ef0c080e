"""Models of answers as transformers: the points of objects, alone or before further steps of a pipeline.

What scikit-learn calls X are answers in ``fit`` and objects, or again answers, in ``transform``: a pipeline passes the
same X to both. The rows of the output are objects, however many answers there were.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import object_indices


class _Points(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Points of objects by number; scikit-learn wraps this ``transform``, for ``set_output``."""

    def _points(self) -> np.ndarray:
        """Return a point for each object; NotFittedError before ``fit``."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return int(self._points().shape[1])

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the points of objects, given by number."""
        return self._points()[X]


# scikit-learn would take the index of the answers for that of the points, hence auto_wrap_output_keys=None.
class PlacedObjects(_Points, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """``transform`` and ``fit_transform`` of a model that has points of objects and ``names_`` or None."""

    names_: tuple[str, ...] | None
    _n_known: Any  # the number of objects

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from answers."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Return the points of objects.

        Parameters
        ----------
        X : sequence of int or str, or comparisons
            Numbers or names of objects of the model; comparisons stand for all its objects, so that a pipeline may go
            on from the points.

        Returns
        -------
        array of shape (n, n_components), or what ``set_output`` asks for
            Of a kernel, points in n_objects dimensions, the widest first, whose distances are those of the kernel.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.pipeline import make_pipeline
        >>> from nearer import OrdinalEmbedding, simulate
        >>> answers = simulate.comparisons_from_points([[0.0], [1.0], [9.0], [11.0]], 50, random_state=0)
        >>> clusters = make_pipeline(OrdinalEmbedding(1, random_state=0), KMeans(2, random_state=0))
        >>> labels = clusters.fit(answers).predict(answers)  # of the four objects
        >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
        True
        """
        n = self._n_known  # raises NotFittedError before anything else is missed
        is_table = isinstance(X, Comparisons | ComparisonSource) or np.ndim(X) == 2
        indices = np.arange(n) if is_table else object_indices(X, self.names_, n)
        return self._place(indices)

    def _place(self, indices: np.ndarray) -> Any:
        points: Any = super().transform(indices)
        if self.names_ is not None and hasattr(points, "iloc"):
            points.index = [self.names_[i] for i in indices]
        return points

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Learn from answers, and return the points of all objects.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for :meth:`fit`.

        Returns
        -------
        array of shape (n_objects, n_components), or what ``set_output`` asks for
        """
        self.fit(X, y, sample_weight, groups)
        return self._place(np.arange(self._n_known))
