"""Selection of the features whose presence is most informative about the class.

As in the experiments of Shalit, Weinshall and Chechik 2012 (LORETA), by the information gain H(class) − H(class |
presence). Mutual information is symmetric, so it equals H(presence) − H(presence | class). In that form a class in
which a feature never occurs adds nothing: all sums run over non-zero counts, which for words are few.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse
from scipy.special import xlogy
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted

from nearer.features.validation import validate_table
from nearer.models import SavedModel
from nearer.parameters import AUTO, COUNT, check_parameters, either, one_of, parametrized, unchanged_on_failure

DECIMALS = 12  # of the bits, so that columns of equal counts are equal
MAX_KEPT = 1_000  # columns that "auto" keeps


@parametrized
class InformationGain(SelectorMixin, SavedModel, BaseEstimator):
    """Select the features whose presence is most informative about the class, best first.

    A feature is present in a row if it is not zero; its size and sign do not matter.

    Parameters
    ----------
    k : "auto", int or "all", default="auto"
        Number of columns to keep. "auto": 1,000, or all where there are fewer. "all" keeps them all and sorts them.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Information gain of each column in bits, rounded to twelve decimals.
    order_ : array of shape (n_features,)
        All columns, best first; ties are broken by position.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns of X, and their names if X had names.

    Notes
    -----
    ``transform``, ``get_feature_names_out`` and ``get_support(indices=True)`` return the columns **best first**,
    not in the order of X, so the first columns are always the most informative.

    The gain is H(class) − Σ P(·) H(class | ·) over present and absent, from counts only:
    ``mutual_info_classif(X != 0, y, discrete_features=True) / log(2)``, but much faster.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import InformationGain
    >>> X = np.array([[3, 0, 1], [0, 0, 2], [1, 5, 0], [0, 2, 0]])
    >>> selector = InformationGain(k=2).fit(X, ["sea", "sea", "land", "land"])
    >>> selector.scores_, selector.order_
    (array([0., 1., 1.]), array([1, 2, 0]))
    >>> selector.transform(X)
    array([[0, 1],
           [0, 2],
           [5, 0],
           [2, 0]])
    """

    k: int | str = "auto"

    _learned_arrays = ("scores_", "order_", "feature_names_in_")
    _learned_values = ("n_features_in_",)
    _constraints: ClassVar = {"k": either(AUTO, COUNT, one_of("all"))}

    def fit(self, X: Any, y: Any) -> Self:
        """Compute the information gain of each column.

        Parameters
        ----------
        X : table of shape (n, n_features), dense or sparse
            One row per object.
        y : array of shape (n,)
            The class of each row.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            X, y = validate_table(self, X, y, accept_sparse=("csr", "csc"))
            check_classification_targets(y)
            if not isinstance(self.k, str) and self.k > X.shape[1]:
                raise ValueError(
                    f"k={self.k} is more than the n_features={X.shape[1]} columns of X: use a smaller k, or 'all'"
                )
            self.scores_ = information_gain(X, y)
            self.order_ = np.argsort(-self.scores_, kind="stable")
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns, best first.

        Parameters
        ----------
        X : table of shape (n, n_features), dense or sparse
            With the columns of ``fit``.

        Returns
        -------
        table of shape (n, k)
            Sparse if X is, with sorted indices.
        """
        check_is_fitted(self)
        X = validate_table(self, X, dtype=None, accept_sparse=("csr", "csc"), reset=False)
        selected = X[:, self.get_support(indices=True)]
        if issparse(selected):
            selected.sort_indices()
        return selected

    def inverse_transform(self, X: Any) -> Any:
        """Return columns in the order of ``fit``, with zeros for those that were not selected.

        Parameters
        ----------
        X : table of shape (n, k), dense or sparse
            As returned by :meth:`transform`.

        Returns
        -------
        table of shape (n, n_features)
            CSC for a sparse X.
        """
        selected = self.get_support(indices=True)
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != len(selected):
            raise ValueError(f"X has shape {shape}; expected one column for each of the {len(selected)} selected")
        full = shape[0], len(self.order_)
        if issparse(X):
            entries = X.tocoo()
            return csc_array((entries.data, (entries.row, selected[entries.col])), shape=full)
        X = check_array(X, dtype=None)
        table = np.zeros(full, dtype=X.dtype)
        table[:, selected] = X
        return table

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return which columns are selected.

        Parameters
        ----------
        indices : bool, default=False
            Return the indices in the order of :meth:`transform` instead of a mask.

        Returns
        -------
        array of bool of shape (n_features,), or of int of shape (k,)
        """
        mask = super().get_support()
        return self.order_[: np.count_nonzero(mask)] if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected columns, best first.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X, if X had none; by default x0, x1, …

        Returns
        -------
        array of str of shape (k,)
        """
        names = super().get_feature_names_out(input_features)
        selected = self.get_support(indices=True)
        return names[np.searchsorted(np.sort(selected), selected)]

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(len(self.order_), dtype=bool)
        n_kept = {"auto": MAX_KEPT, "all": len(self.order_)}[self.k] if isinstance(self.k, str) else self.k
        mask[self.order_[:n_kept]] = True
        return mask

    def _loaded(self) -> None:
        check_parameters(self)
        n = self.n_features_in_
        if self.scores_.shape != (n,) or not np.array_equal(np.sort(self.order_), np.arange(n)):
            raise ValueError(f"scores of shape {self.scores_.shape} and an order do not fit {n} columns")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def information_gain(X: Any, y: Any) -> np.ndarray:
    """Return the information gain of each column about the class, in bits, rounded to twelve decimals."""
    present = _present(X)
    n, n_features = present.shape
    _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    of_class = csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, len(sizes)))
    counts = (of_class.T @ present).tocoo()
    given_class = _entropy_times(sizes[counts.row].astype(np.float64), counts.data)  # the non-zero terms
    entropy = _entropy_times(float(n), np.bincount(counts.col, counts.data, n_features))
    bits = (entropy - np.bincount(counts.col, given_class, n_features)) / (n * np.log(2.0))
    return np.maximum(np.round(bits, DECIMALS), 0.0) + 0.0  # no negative zero


def _present(X: Any) -> csr_array:
    """Return 1.0 where X is not zero; X is not changed."""
    table = csr_array(X, copy=True)
    table.sum_duplicates()  # two entries of one cell may add up to zero
    table.eliminate_zeros()
    return csr_array((np.ones(table.nnz), table.indices, table.indptr), shape=table.shape)


def _entropy_times(n: Any, part: np.ndarray) -> np.ndarray:
    """Return n times the entropy, in nats, of an event that occurs in ``part`` of n cases."""
    return xlogy(n, n) - xlogy(part, part) - xlogy(n - part, n - part)
