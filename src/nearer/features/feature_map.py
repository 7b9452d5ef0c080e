"""From features to a learned map: where do objects lie that nobody was asked about?

Answers place only objects that occur in them. Where objects have features (pixels, words, ingredients),
regularised least squares with a Gaussian kernel learns the way from features to points, as in the retrieval
experiment of Ma et al. 2018 (SVRG-SBB), and carries the map to any object with features. How much regularisation
is right can be asked of the objects themselves, by leaving out each in turn, which kernel ridge regression does
in closed form.
"""

from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from nearer.comparisons.rows import blocks
from nearer.features.validation import validate_table
from nearer.models import SavedModel
from nearer.parameters import check, is_number, unchanged_on_failure

KERNELS = ("rbf", "linear")
LADDER = tuple(10.0 ** (0.5 * step) for step in range(4, -9, -1))  # 100 to 0.0001, from the smoothest map down
BLOCK = 1 << 21  # entries of the kernel between new objects and known ones that are held at once


class FeatureMap(RegressorMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedModel, BaseEstimator):
    """Carries a learned map to objects that nobody was asked about, by their features.

    Kernel ridge regression from features to points: minimises the squared distance between predicted and learned
    points plus ``alpha`` times the squared norm of the function.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        How alike features are: exp(-gamma ‖x - z‖²), or the inner product after centring.
    alpha : float or "auto", default=0.1
        Regularisation. "auto" leaves out each object in turn and takes the smallest of 100, 31.6, 10, …, 0.0001
        (times the mean of the kernel's diagonal, which is 1 for "rbf") whose squared error is within a standard
        error of the best; ``alpha_`` says which. It suits a "linear" kernel, whose scale is that of the features.
    gamma : float, optional
        Of "rbf"; None: one over the mean squared distance between rows.

    Attributes
    ----------
    alpha_ : float
        Regularisation as used.
    gamma_ : float or None
        Width of the kernel as used; None for "linear".
    X_fit_ : array of shape (n_objects, n_features)
        Features of the known objects, centred.
    dual_coef_ : array of shape (n_objects, n_components) or (n_objects,)
        Weights of the known objects.
    feature_mean_ : array of shape (n_features,)
        Taken off all features.
    intercept_ : array of shape (n_components,) or ()
        Mean of the points, added to all predictions.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str
        Names of the columns, where X had them.

    Notes
    -----
    Features should be on comparable scales, as for any Gaussian kernel: put a ``StandardScaler`` before where they
    are not.

    The default is the paper's. It predicted people's answers about foods, artists and things that the map had
    never seen somewhat better than "auto" did: squared errors ask for more pull to the middle than the order of
    distances does.

    Memory and time of ``fit`` grow with the square and the cube of the number of known objects: suited to some
    thousand of them.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import OrdinalEmbedding
    >>> from nearer.features import FeatureMap
    >>> from nearer.metrics import triplet_error
    >>> from nearer.simulate import all_triplets, comparisons_from_points
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> known, new = features[:40], features[40:]
    >>> answers = comparisons_from_points(known, 3000, random_state=0)
    >>> model = OrdinalEmbedding(2, random_state=0).fit(answers)
    >>> feature_map = FeatureMap().fit(known, model)
    >>> points = feature_map.transform(new)
    >>> points.shape, bool(triplet_error(points, all_triplets(new)) < 0.1)
    ((20, 2), True)
    """

    _learned_arrays = ("X_fit_", "dual_coef_", "feature_mean_", "intercept_", "feature_names_in_")
    _learned_values = ("alpha_", "gamma_", "n_features_in_")

    def __init__(self, kernel: str = "rbf", *, alpha: float | str = 0.1, gamma: float | None = None) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the way from features to points.

        Parameters
        ----------
        X : array of shape (n_objects, n_features), or DataFrame
            Features of the known objects.
        y : array of shape (n_objects, n_components), or a fitted model with ``embedding_``
            Their points; or the model that learned them, such as :class:`nearer.OrdinalEmbedding`, with X's rows
            as its objects, in the same order. Objects that the model was never asked about, which lie exactly
            at the origin, are left out.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            X = validate_table(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
            X, points = _known(X, y)
            self.feature_mean_, self.intercept_ = X.mean(axis=0), points.mean(axis=0)
            self.X_fit_ = X - self.feature_mean_
            self.gamma_ = self._width()
            kernel = self._kernel(self.X_fit_)
            self.alpha_ = float(chosen_alpha(kernel, points) if isinstance(self.alpha, str) else self.alpha)
            ridge = KernelRidge(alpha=self.alpha_, kernel="precomputed")
            self.dual_coef_ = np.ascontiguousarray(ridge.fit(kernel, points - self.intercept_).dual_coef_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the points of objects, known or new.

        Parameters
        ----------
        X : array of shape (n, n_features), or DataFrame
            Their features.

        Returns
        -------
        array of shape (n, n_components), or (n,) after a fit to one number an object
        """
        check_is_fitted(self, "dual_coef_")
        X = validate_table(self, X, dtype=np.float64, order="C", reset=False) - self.feature_mean_
        points = np.empty((len(X), *self.dual_coef_.shape[1:]))
        for block in blocks(len(X), max(1, BLOCK // len(self.X_fit_))):
            points[block] = self._kernel(X[block]) @ self.dual_coef_ + self.intercept_
        return points

    @property
    def _n_features_out(self) -> int:
        return int(np.prod(self.dual_coef_.shape[1:]))

    def transform(self, X: Any) -> np.ndarray:
        """Return the points of objects: :meth:`predict`, always with one column a component.

        Parameters
        ----------
        X : array of shape (n, n_features), or DataFrame
            Features of objects, known or new.

        Returns
        -------
        array of shape (n, n_components)
        """
        points = self.predict(X)
        return points.reshape(len(points), -1)

    def _kernel(self, X: np.ndarray) -> np.ndarray:
        """Return the kernel between some rows and the known ones."""
        settings = {} if self.gamma_ is None else {"gamma": self.gamma_}
        return pairwise_kernels(X, self.X_fit_, metric=self.kernel, **settings)

    def _width(self) -> float | None:
        if self.kernel != "rbf":
            return None
        if self.gamma is not None:
            return float(self.gamma)
        spread = 2.0 * self.X_fit_.var(axis=0, ddof=1).sum()  # the mean squared distance between two rows
        return 1.0 / float(spread) if spread > 0 else 1.0

    def _check_parameters(self) -> None:
        check(self, "kernel", isinstance(self.kernel, str) and self.kernel in KERNELS, "'rbf' or 'linear'")
        alpha, gamma = self.alpha, self.gamma
        good = alpha == "auto" if isinstance(alpha, str) else is_number(alpha) and alpha > 0
        check(self, "alpha", good, "a number > 0 or 'auto'")
        check(self, "gamma", gamma is None or (is_number(gamma) and gamma > 0), "None or a number > 0")

    def _loaded(self) -> None:
        """Refuse what was read where it does not fit together."""
        self._check_parameters()
        n, d = self.X_fit_.shape
        means, weights, intercept = self.feature_mean_.shape, self.dual_coef_.shape, self.intercept_.shape
        if means != (d,) or self.n_features_in_ != d or weights != (n, *intercept):
            raise ValueError(
                f"features of shape {(n, d)} with means of shape {means}, and weights of shape {weights} with an "
                f"intercept of shape {intercept}, do not fit together"
            )
        if (self.gamma_ is None) == (self.kernel == "rbf"):
            raise ValueError(f"the kernel {self.kernel!r} and gamma_={self.gamma_} do not fit together")

    def __sklearn_tags__(self) -> Tags:
        """Say that a point may have any number of coordinates."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _known(X: np.ndarray, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return features and points of the objects to learn from."""
    if y is None:
        raise ValueError("FeatureMap requires y to be passed, but the target y is None: points or a fitted model")
    model = y if hasattr(y, "fit") or hasattr(y, "embedding_") else None
    if model is not None and not hasattr(model, "embedding_"):
        raise NotFittedError(
            f"y is a {type(model).__name__} without points (embedding_): fit it first, "
            "or give the points themselves"
        )
    y = y if model is None else model.embedding_
    points = check_array(y, dtype=np.float64, ensure_2d=False, ensure_min_samples=0, input_name="y")
    if points.ndim == 0 or len(points) != len(X):
        raise ValueError(
            f"X has {len(X)} rows, but y has points of shape {points.shape}: one row an object is wanted, in the "
            "same order"
        )
    if model is None:
        return X, points
    asked = points.any(axis=1)
    if np.count_nonzero(asked) < 2:
        raise ValueError(f"of the {len(points)} objects of the {type(model).__name__} fewer than two have a place")
    return X[asked], points[asked]


def chosen_alpha(kernel: np.ndarray, points: np.ndarray) -> float:
    """Return the smallest regularisation of the ladder that leave-one-out errors hardly tell from the best.

    A point nearer to the middle has a smaller squared error but is no better placed among the others: hence the
    smallest, within one standard error of the difference.

    Parameters
    ----------
    kernel : array of shape (n, n)
    points : array of shape (n, n_components) or (n,)

    Examples
    --------
    >>> line = np.linspace(-1, 1, 20)
    >>> chosen_alpha(np.outer(line, line), 3 * line) < 1e-4  # nothing to smooth
    True
    """
    scale = float(np.mean(np.diagonal(kernel))) or 1.0
    ladder = scale * np.array(LADDER)
    errors = left_out_errors(kernel, points, ladder)
    excess = errors - errors[np.argmin(errors.mean(axis=1))]
    doubt = excess.std(axis=1, ddof=1) / np.sqrt(len(kernel))
    return float(ladder[excess.mean(axis=1) <= doubt].min())


def left_out_errors(kernel: np.ndarray, points: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return the squared distance of each point to where the others put it, for each of some alphas.

    With G = K + alpha I, kernel ridge regression of t leaves at object i, when it is left out, the residual
    (G⁻¹t)ᵢ / (G⁻¹)ᵢᵢ. Here t are the points less their mean, and that mean is without point i too: t = y − mᵢ1. So
    the residual is that of y less mᵢ times that of a column of ones.

    Parameters
    ----------
    kernel : array of shape (n, n)
    points : array of shape (n, n_components) or (n,)
    alphas : array of shape (n_alphas,)

    Returns
    -------
    array of shape (n_alphas, n)
    """
    n = len(kernel)
    points = points.reshape(n, -1)
    values, vectors = eigh(kernel)
    values = np.maximum(values, 0.0)
    means_of_others = (points.sum(axis=0) - points) / (n - 1)
    along = vectors.T @ np.column_stack([points, np.ones(n)])
    squared, errors = vectors**2, []
    for alpha in alphas:
        inverse = 1.0 / (values + alpha)
        solved = vectors @ (inverse[:, None] * along)
        residuals = (solved[:, :-1] - means_of_others * solved[:, -1:]) / (squared @ inverse)[:, None]
        errors.append((residuals**2).sum(axis=1))
    return np.array(errors)
