"""The features that tell most about the class, by their presence alone.

How the terms of documents are chosen in the experiments of Shalit, Weinshall and Chechik 2012 (LORETA): by the
bits that one gains about a document's class when told whether it has the term. That is H(class) − H(class |
present or absent). Mutual information is symmetric, so it is also H(present or absent) − H(present or absent |
class), and in that form a class in which a feature never occurs adds nothing: all sums run over counts that are
not zero, which for words are few.
"""

from typing import Any, Self

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
from nearer.parameters import check, is_count, unchanged_on_failure

DECIMALS = 12  # of the bits: what differs by rounding alone is equal


class InformationGain(SelectorMixin, SavedModel, BaseEstimator):
    """Selects the features that tell most about the class when one knows whether they are present, best first.

    A feature is present in a row where it is not zero; how large it is, or whether negative, does not matter.

    Parameters
    ----------
    k : int or "all", default=1000
        How many columns to keep. "all" keeps them all and puts them in order.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Bits gained about the class by each column; rounded to twelve decimals.
    order_ : array of shape (n_features,)
        All columns, best first; of equal ones the first.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str
        Names of the columns, where X had them.

    Notes
    -----
    ``transform`` gives the columns **best first** and not in the order of X, and so do ``get_feature_names_out``
    and ``get_support(indices=True)``. The first columns are then the most informative, whoever takes only some.

    The gain is H(class) − Σ P(·) H(class | ·) over present and absent, from counts alone:
    ``mutual_info_classif(X != 0, y, discrete_features=True) / log(2)``, in a small part of its time.

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

    _learned_arrays = ("scores_", "order_", "feature_names_in_")
    _learned_values = ("n_features_in_",)

    def __init__(self, k: int | str = 1000) -> None:
        self.k = k

    def fit(self, X: Any, y: Any) -> Self:
        """Learn how much each column tells about the class.

        Parameters
        ----------
        X : table of shape (n, n_features), dense or sparse
            One row an object.
        y : array of shape (n,)
            The class of each.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            X, y = validate_table(self, X, y, accept_sparse=("csr", "csc"))
            check_classification_targets(y)
            if self.k != "all" and int(self.k) > X.shape[1]:
                raise ValueError(
                    f"k={self.k} columns are wanted, and X has n_features={X.shape[1]}: take a smaller k, or 'all'"
                )
            self.scores_ = bits_gained(X, y)
            self.order_ = np.argsort(-self.scores_, kind="stable")
        return self

    def transform(self, X: Any) -> Any:
        """Return the chosen columns, best first.

        Parameters
        ----------
        X : table of shape (n, n_features), dense or sparse
            With the columns that were fitted.

        Returns
        -------
        table of shape (n, k)
            Sparse where X is, with indices sorted in each row (CSR) or column (CSC).
        """
        check_is_fitted(self)
        X = validate_table(self, X, dtype=None, accept_sparse=("csr", "csc"), reset=False)
        chosen = X[:, self.get_support(indices=True)]
        if issparse(chosen):
            chosen.sort_indices()
        return chosen

    def inverse_transform(self, X: Any) -> Any:
        """Return columns to their places, with zeros for those that were not chosen.

        Parameters
        ----------
        X : table of shape (n, k), dense or sparse
            As :meth:`transform` gives it.

        Returns
        -------
        table of shape (n, n_features)
            As it came from, where the other columns were zero; CSC for a sparse X.
        """
        chosen = self.get_support(indices=True)
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != len(chosen):
            raise ValueError(f"X has shape {shape}; one column for each of the {len(chosen)} chosen is wanted")
        full = shape[0], len(self.order_)
        if issparse(X):
            entries = X.tocoo()
            return csc_array((entries.data, (entries.row, chosen[entries.col])), shape=full)
        X = check_array(X, dtype=None)
        back = np.zeros(full, dtype=X.dtype)
        back[:, chosen] = X
        return back

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return which columns are chosen.

        Parameters
        ----------
        indices : bool, default=False
            Their numbers, best first, as :meth:`transform` gives them, instead of a mask.

        Returns
        -------
        array of bool of shape (n_features,), or of int of shape (k,)
        """
        mask = super().get_support()
        return self.order_[: np.count_nonzero(mask)] if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the chosen columns, best first.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X, where X had none; by default x0, x1, …

        Returns
        -------
        array of str of shape (k,)
        """
        in_place = super().get_feature_names_out(input_features)
        chosen = self.get_support(indices=True)
        return in_place[np.searchsorted(np.sort(chosen), chosen)]

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(len(self.order_), dtype=bool)
        mask[self.order_ if isinstance(self.k, str) else self.order_[: self.k]] = True
        return mask

    def _check_parameters(self) -> None:
        good = self.k == "all" if isinstance(self.k, str) else is_count(self.k)
        check(self, "k", good, "a whole number > 0 or 'all'")

    def _loaded(self) -> None:
        """Refuse what was read where it does not fit together."""
        self._check_parameters()
        n = self.n_features_in_
        if self.scores_.shape != (n,) or not np.array_equal(np.sort(self.order_), np.arange(n)):
            raise ValueError(f"scores of shape {self.scores_.shape} and an order do not fit {n} columns")

    def __sklearn_tags__(self) -> Tags:
        """Say that X may be sparse, and that a class is needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def bits_gained(X: Any, y: Any) -> np.ndarray:
    """Return the bits that one gains about the class when told whether a column is present.

    Parameters
    ----------
    X : table of shape (n, n_features), dense or sparse
        Present is what is not zero.
    y : array of shape (n,)
        Class labels.

    Returns
    -------
    array of shape (n_features,)
        Rounded to twelve decimals, so that columns whose counts are alike are equal.

    Examples
    --------
    >>> bits_gained(np.array([[2, 0], [1, 1], [0, 0], [0, -1]]), ["a", "a", "b", "b"])
    array([1., 0.])
    """
    present = _present(X)
    n, n_features = present.shape
    _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    of_class = csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, len(sizes)))
    counts = (of_class.T @ present).tocoo()
    there, size = counts.data, sizes[counts.row].astype(np.float64)
    known = _entropy_times(size, there)  # n H(present | class), the terms that are not 0
    unknown = _entropy_times(float(n), np.bincount(counts.col, there, n_features))
    bits = (unknown - np.bincount(counts.col, known, n_features)) / (n * np.log(2.0))
    return np.maximum(np.round(bits, DECIMALS), 0.0) + 0.0  # no minus before a zero


def _present(X: Any) -> csr_array:
    """Return 1.0 where X is not zero; X is left as it is."""
    if not issparse(X):
        return csr_array(np.asarray(X) != 0, dtype=np.float64)
    table = csr_array(X, copy=True)
    table.sum_duplicates()  # two entries in one place may add up to zero
    there = csr_array(((table.data != 0).astype(np.float64), table.indices, table.indptr), shape=table.shape)
    there.eliminate_zeros()
    return there


def _entropy_times(n: Any, part: np.ndarray) -> np.ndarray:
    """Return n times the entropy, in nats, of being among ``part`` of n."""
    return xlogy(n, n) - xlogy(part, part) - xlogy(n - part, n - part)
