"""What models of answers share: the arguments of ``fit``, predictions, a score and nearest objects.

A model learns from checked comparisons. It provides squared distances, of the pairs of some rows and from some
objects to all, and a loss with the probability of an answer; models of points get the distances here too.
"""

import warnings
from typing import Any, Literal, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.chunks import has_cluster, is_dask_frame, source_of
from nearer.comparisons.coerce import (
    as_comparisons,
    drop_zero_weights,
    match_objects,
    object_indices,
    refuse_beside_source,
)
from nearer.comparisons.rows import blocks, squared_distances
from nearer.parameters import check_count, check_parameters, join_or, n_threads, unchanged_on_failure
from nearer.placed import PlacedObjects
from nearer.threads import thread_map

BLOCK = 1 << 18  # questions per block
UNKNOWN = ("raise", "skip")


class ComparisonPredictor(PlacedObjects):
    """The methods of an estimator with a loss ``loss_``, ``names_`` or None, and the private methods below.

    What scikit-learn calls X are the comparisons: its metadata routing takes any other name for metadata.
    """

    _fitted_attribute: str  # has one row per object
    _learns_from_files = False
    loss_: Any
    names_: tuple[str, ...] | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from answers.

        Parameters
        ----------
        X : Comparisons, ComparisonSource, array or list of shape (n, 3) or (n, 4), or DataFrame
            Rows (a, b, c) say d(a, b) < d(a, c); rows (i, j, l, k) say d(i, j) < d(l, k). Objects are given by
            number or by name. A DataFrame is one of pandas or Dask.
        y : array of shape (n,), optional
            Then the rows are questions and y the answers: True or False, 1 or 0, or signed counts such as 1 and -1,
            whose size is a weight. A "no" turns a row around.
        sample_weight : array of shape (n,), optional
            Multiplies the comparisons' weights.
        groups : "subjects" or array of shape (n,), optional
            What is held out to choose settings, or to stop early, are whole groups: with "subjects" the answers of
            people that the fit has not seen.

        Returns
        -------
        self
        """
        if self._learns_from_files and is_dask_frame(X):
            X = source_of(X)
        if isinstance(X, ComparisonSource) and (X.is_large or has_cluster()) and self._learns_from_files:
            refuse_beside_source(y=y, sample_weight=sample_weight, groups=groups)
            check_parameters(self)
            with unchanged_on_failure(self):
                self._fit(X)
            return self
        comparisons = as_comparisons(X, y, sample_weight)
        if groups is not None:
            comparisons = comparisons.group(groups)
            if comparisons.n_answers < 2:
                raise ValueError("groups are held out as a whole, so there must be at least two; there is one")
        comparisons = drop_zero_weights(comparisons)
        check_parameters(self)
        if len(comparisons) == 0:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        with unchanged_on_failure(self):
            self._fit(comparisons)
        return self

    def _fit(self, comparisons: Any) -> None:
        """Learn from comparisons, of which there are some, with weights above 0; parameters are checked.

        These are Comparisons, and where the class ``_learns_from_files`` a ComparisonSource that is larger than memory.
        """
        raise NotImplementedError

    @property
    def _n_known(self) -> int:
        """How many objects the model has; raises NotFittedError before ``fit``."""
        check_is_fitted(self, self._fitted_attribute)
        return len(getattr(self, self._fitted_attribute))

    def _pair_distances(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of near and far pairs."""
        raise NotImplementedError

    def _distances_from(self, objects: np.ndarray) -> np.ndarray:
        """Return squared distances to all objects, one row per given object."""
        raise NotImplementedError

    def _asked(self) -> np.ndarray:
        """Return which objects the model has learned something about; it keeps a place for the others too."""
        raise NotImplementedError

    def _known_rows(self, questions: Any, unknown: str) -> tuple[np.ndarray, np.ndarray]:
        """Return questions in the numbers of the model, and which of them are about objects that it knows."""
        if unknown not in UNKNOWN:
            raise ValueError(f"unknown must be {join_or(map(repr, UNKNOWN))}; got {unknown!r}")
        n_known = self._n_known
        comparisons = Comparisons.of(questions)
        rows = match_objects(comparisons, self.names_, n_known)
        known = np.asarray((rows < n_known).all(axis=1))
        if unknown == "raise" and not known.all():
            row = int(np.argmin(known))
            number = comparisons.rows[row][rows[row] == n_known][0]
            name = number if comparisons.names is None else repr(comparisons.names[number])
            raise ValueError(
                f"row {row} is about object {name}, which the model does not know: it knows {n_known} objects. "
                "unknown='skip' leaves such rows out; to cross-validate, pass Comparisons, whose parts know all objects"
            )
        return rows, known

    def _distances(self, questions: Any, unknown: str = "raise") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return squared distances of the near and far pair of each question, block by block; and which are known."""
        rows, known = self._known_rows(questions, unknown)
        rows = rows if known.all() else rows[known]
        with thread_map(n_threads(getattr(self, "n_jobs", None)) if len(rows) > BLOCK else 1) as run:
            parts = list(run(lambda block: self._pair_distances(rows[block]), blocks(len(rows), BLOCK)))
        near, far = np.concatenate(parts, axis=1) if parts else np.empty((2, 0))
        return near, far, known

    @property
    def classes_(self) -> np.ndarray:
        """The answers, in the order of the columns of :meth:`predict_proba`: -1 (no) and 1 (yes)."""
        return np.array([-1, 1])

    def predict(self, X: Any, unknown: str = "raise") -> np.ndarray:
        """Return 1 where the model puts the first pair of a row nearer together, else -1.

        Parameters
        ----------
        X : Comparisons, array or list of shape (n, 3) or (n, 4), or DataFrame
            Questions, by number or name of the objects. (a, b, c): is a nearer to b (1) than to c (-1)?
        unknown : {"raise", "skip"}, default="raise"
            What to do with questions about objects that the model does not know: a ValueError, or 0 as the answer.

        Returns
        -------
        array of 1 and -1

        Examples
        --------
        >>> from nearer import OrdinalEmbedding
        >>> model = OrdinalEmbedding(1, random_state=0).fit([["Vienna", "Prague", "Rome"]])
        >>> model.predict([["Vienna", "Prague", "Rome"], ["Vienna", "Oslo", "Rome"]], unknown="skip")
        array([1, 0])
        """
        return self._predict(X, unknown)

    def _predict(self, questions: Any, unknown: str) -> np.ndarray:
        if isinstance(questions, ComparisonSource):
            return np.concatenate([self._predict(chunk, unknown) for chunk in questions.chunks()])
        near, far, known = self._distances(questions, unknown)
        answers = np.zeros(len(known), dtype=np.intp)
        answers[known] = np.where(near < far, 1, -1)
        return answers

    def predict_proba(self, X: Any, unknown: str = "raise") -> np.ndarray:
        """Return the probability of either answer by the model of the loss.

        Parameters
        ----------
        X : Comparisons, array or list of shape (n, 3) or (n, 4), or DataFrame
            Questions, as for :meth:`predict`.
        unknown : {"raise", "skip"}, default="raise"
            As for :meth:`predict`; "skip" gives NaN.

        Returns
        -------
        array of shape (n, 2)
            The columns are in the order of ``classes_``: first the probability of -1 (no, the second pair is
            nearer), then that of 1 (yes, the first pair is nearer).

        Examples
        --------
        >>> from nearer import OrdinalEmbedding
        >>> model = OrdinalEmbedding(1, random_state=0).fit([["Vienna", "Prague", "Rome"]])
        >>> no, yes = model.predict_proba([["Vienna", "Prague", "Rome"]])[0]
        >>> bool(yes > no), model.classes_
        (True, array([-1,  1]))
        """
        near, far, known = self._distances(X, unknown)
        probabilities = np.full((len(known), 2), np.nan)
        probability = self.loss_.probability(near, far)
        probabilities[known] = np.column_stack([1.0 - probability, probability])
        return probabilities

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, unknown: str = "raise") -> float:
        """Return the share of comparisons, by weight, that the model satisfies; a tie does not count.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        unknown : {"raise", "skip"}, default="raise"
            What to do with comparisons of objects that the model does not know: a ValueError, or leave them out.
            Where objects have numbers only, comparisons of higher numbers than those of the model are left out with
            a warning: in cross-validation of an array, some parts do not mention the last objects.

        Returns
        -------
        float
        """
        if isinstance(X, ComparisonSource) and y is None and sample_weight is None:
            chunks = X.chunks()
        else:
            chunks = iter([as_comparisons(X, y, sample_weight)])
        correct, total, n_rows, n_known, unit = 0.0, 0.0, 0, 0, 1.0
        for comparisons in chunks:
            is_numbered = getattr(self, "names_", None) is None and comparisons.names is None
            answers = self._predict(comparisons, "skip" if unknown == "raise" and is_numbered else unknown)
            known = answers != 0
            right, n_rows, n_known = answers[known] == 1, n_rows + len(known), n_known + int(known.sum())
            weights = np.ones(len(right)) if comparisons.weights is None else comparisons.weights[known]
            largest = float(weights.max(initial=0.0))
            if largest > 0.0 and (largest > unit or not total):  # the largest is the unit: the sum may overflow
                correct, total, unit = correct * (unit / largest), total * (unit / largest), largest
            correct += float((weights[right] / unit).sum())
            total += float((weights / unit).sum())
        if unknown == "raise" and 0 < n_known < n_rows:
            warnings.warn(
                f"{n_rows - n_known} of {n_rows} rows are about objects of higher numbers than those of the model, "
                "and are left out of the score; parts of Comparisons know all objects",
                stacklevel=2,
            )
        if not total > 0.0:
            left = "no comparisons of objects that the model knows" if n_rows else "no comparisons"
            raise ValueError(f"there is nothing to score: {left}, or all weights are zero")
        return correct / total

    def neighbors(self, objects: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest other objects of some objects, nearest first.

        Objects that no answer was about are nobody's neighbors.

        Parameters
        ----------
        objects : int, str, or sequence of these
            Numbers or names of objects of the model.
        k : int, default=5
            How many neighbors to return per object.

        Returns
        -------
        distances : array of shape (n, k)
            Distances to the neighbors of each of the n objects.
        neighbors : array of shape (n, k)
            Names of the neighbors; their numbers where the model has no ``names_``.

        Examples
        --------
        >>> from nearer import OrdinalEmbedding
        >>> answers = [["Vienna", "Prague", "Rome"], ["Prague", "Vienna", "Rome"]]
        >>> model = OrdinalEmbedding(1, random_state=0).fit(answers)
        >>> distances, neighbors = model.neighbors("Vienna", k=2)
        >>> neighbors.tolist()
        [['Prague', 'Rome']]
        """
        n = self._n_known
        queries, asked = object_indices(objects, self.names_, n), self._asked()
        if not asked[queries].all():
            unknown = int(queries[~asked[queries]][0])
            name = unknown if self.names_ is None else repr(self.names_[unknown])
            raise ValueError(f"no answer was about object {name}: its neighbors are not known")
        check_count("k", k, int(asked.sum()) - 1, ", the other objects")
        squared = self._distances_from(queries)
        squared[:, ~asked] = np.inf
        squared[np.arange(len(queries)), queries] = np.inf
        indices = np.argsort(squared, axis=1, kind="stable")[:, :k]
        neighbors = indices if self.names_ is None else np.array(self.names_)[indices]
        return np.sqrt(np.take_along_axis(squared, indices, axis=1)), neighbors

    def plot(
        self,
        *,
        groups: Any = None,
        weights: Any = None,
        title: str | None = None,
        labels: Literal["auto", "all", "none"] = "auto",
        ax: Any = None,
    ) -> Any:
        """Draw the objects as a map, by matplotlib; those that no answer was about are left out.

        Parameters
        ----------
        groups, weights, title, labels
            As in `nearer.maps.write_map`, which writes pages and pictures to files.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, which a notebook shows.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``ax.figure.savefig(path)`` writes the picture.

        Examples
        --------
        >>> from nearer import OrdinalEmbedding
        >>> answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0]]
        >>> ax = OrdinalEmbedding(loss="ste", regularization=0.1, random_state=0).fit(answers).plot(title="Four objects")
        >>> sorted(text.get_text() for text in ax.texts)
        ['0', '1', '2', '3']
        """
        from nearer.maps.model import plot_model

        check_is_fitted(self, self._fitted_attribute)
        return plot_model(self, groups=groups, weights=weights, title=title, labels=labels, ax=ax)


class EmbeddingPredictor(ComparisonPredictor):
    """The methods of an estimator that has points ``embedding_``, a loss ``loss_`` and ``names_`` or None."""

    _fitted_attribute = "embedding_"
    embedding_: np.ndarray

    def _points(self) -> np.ndarray:
        check_is_fitted(self, "embedding_")
        return self.embedding_

    def _pair_distances(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return squared_distances(self.embedding_.astype(np.float64, copy=False), rows)

    def _distances_from(self, objects: np.ndarray) -> np.ndarray:
        points = self.embedding_.astype(np.float64, copy=False)
        return cdist(points[objects], points, "sqeuclidean")

    def _asked(self) -> np.ndarray:
        placed = self.embedding_.any(axis=1)  # an object without answers stays at the origin, and nothing pulls it
        energy = getattr(self, "energy_", None)
        return np.asarray(placed if energy is None else placed | (np.asarray(energy) > 0.0))
