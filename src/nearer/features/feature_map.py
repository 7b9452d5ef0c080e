"""From features to points of a learned map, for objects without any comparisons.

Comparisons determine points only for the objects in them. If objects have features (pixels, words, ingredients),
regularized least squares with a Gaussian kernel predicts points from features, as in the retrieval experiment of
Ma et al. 2018 (SVRG-SBB). The regularization can be selected by leave-one-out errors, which kernel ridge
regression has in closed form.
"""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from nearer.comparisons.rows import blocks
from nearer.features.validation import check_scale, validate_features
from nearer.models import SavedModel
from nearer.parameters import NONE, POSITIVE, check_parameters, either, one_of, parametrized, unchanged_on_failure

ALPHAS = tuple(10.0 ** (0.5 * step) for step in range(4, -9, -1))  # 100 to 0.0001
BLOCK = 1 << 21  # entries of the kernel between new and known objects that are held at once


@parametrized
class FeatureMap(RegressorMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedModel, BaseEstimator):
    """Predict points of a learned map for unseen objects from their features.

    Kernel ridge regression from features to points: minimizes the squared distance between predicted and learned
    points plus ``alpha`` times the squared norm of the function.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        exp(-gamma ‖x - z‖²), or the inner product after centering.
    alpha : float or "auto", default=0.1
        Regularization. "auto" selects the smallest of 100, 31.6, 10, …, 0.0001 (times the mean of the kernel's
        diagonal, which is 1 for "rbf") whose leave-one-out squared error is within one standard error of the best.
        Use it with a "linear" kernel, whose scale is that of the features.
    gamma : float, optional
        Parameter of "rbf"; by default one over the mean squared distance between rows.

    Attributes
    ----------
    alpha_ : float
        Regularization as used.
    gamma_ : float or None
        ``gamma`` as used; None for "linear".
    X_fit_ : array of shape (n_objects, n_features)
        Features of the known objects, centered.
    dual_coef_ : array of shape (n_objects, n_components) or (n_objects,)
        Weights of the known objects.
    feature_mean_ : array of shape (n_features,)
        Mean of the features, subtracted from all features.
    intercept_ : array of shape (n_components,) or ()
        Mean of the points, added to all predictions.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns of X, and their names if X had names.

    Notes
    -----
    Features should be on comparable scales, as for any Gaussian kernel: otherwise use a ``StandardScaler`` first.

    The default is the paper's. It predicted people's answers about unseen foods, artists and things somewhat
    better than "auto": squared errors favor more shrinkage than the order of distances does.

    Memory and time of ``fit`` grow with the square and the cube of the number of known objects: use it for up to a
    few thousand.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import FeatureMap, OrdinalEmbedding
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

    kernel: str = "rbf"
    _: KW_ONLY
    alpha: float | str = 0.1
    gamma: float | None = None

    _learned_arrays = ("X_fit_", "dual_coef_", "feature_mean_", "intercept_", "feature_names_in_")
    _learned_values = ("alpha_", "gamma_", "n_features_in_")
    _constraints: ClassVar = {
        "kernel": one_of("rbf", "linear"),
        "alpha": either(POSITIVE, one_of("auto")),
        "gamma": either(NONE, POSITIVE),
    }

    def fit(self, X: Any, y: Any) -> Self:
        """Learn to predict points from features.

        Parameters
        ----------
        X : array of shape (n_objects, n_features), or DataFrame
            Features of the known objects.
        y : array of shape (n_objects, n_components), or a fitted model with ``embedding_``
            Their points; or the model that learned them, such as :class:`nearer.OrdinalEmbedding`, whose objects
            are the rows of X, in the same order. Objects without comparisons, which are exactly at the origin, are
            left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            X = validate_features(self, X, reset=True)
            check_scale(X, "two")
            X, points = _training_data(X, y)
            self.feature_mean_, self.intercept_ = X.mean(axis=0), points.mean(axis=0)
            self.X_fit_ = X - self.feature_mean_
            self.gamma_ = self._select_gamma()
            kernel = self._kernel(self.X_fit_)
            self.alpha_ = float(select_alpha(kernel, points) if isinstance(self.alpha, str) else self.alpha)
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
        array of shape (n, n_components), or (n,) after a fit to one number per object
        """
        check_is_fitted(self, "dual_coef_")
        X = validate_features(self, X) - self.feature_mean_
        points = np.empty((len(X), *self.dual_coef_.shape[1:]))
        for block in blocks(len(X), max(1, BLOCK // len(self.X_fit_))):
            points[block] = self._kernel(X[block]) @ self.dual_coef_ + self.intercept_
        return points

    @property
    def _n_features_out(self) -> int:
        return int(np.prod(self.dual_coef_.shape[1:]))

    def transform(self, X: Any) -> np.ndarray:
        """Return the points of objects: :meth:`predict`, always with one column per component.

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

    def _select_gamma(self) -> float | None:
        if self.kernel != "rbf":
            return None
        if self.gamma is not None:
            return float(self.gamma)
        spread = 2.0 * self.X_fit_.var(axis=0, ddof=1).sum()  # the mean squared distance between two rows
        return 1.0 / float(spread) if spread > 0 else 1.0

    def _loaded(self) -> None:
        check_parameters(self)
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
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _training_data(X: np.ndarray, y: Any) -> tuple[np.ndarray, np.ndarray]:
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
            f"X has {len(X)} rows, but y has points of shape {points.shape}; expected one row per object, in the "
            "same order"
        )
    if model is None:
        return X, points
    placed = points.any(axis=1)
    if np.count_nonzero(placed) < 2:
        raise ValueError(f"fewer than two of the {len(points)} objects of the {type(model).__name__} have a point")
    return X[placed], points[placed]


def select_alpha(kernel: np.ndarray, points: np.ndarray) -> float:
    """Return the smallest regularization whose leave-one-out error is within one standard error of the best."""
    # The smallest, since shrinking a point to the center lowers its squared error but not the order of distances.
    scale = float(np.mean(np.diagonal(kernel))) or 1.0
    alphas = scale * np.array(ALPHAS)
    errors = leave_one_out_errors(kernel, points, alphas)
    excess = errors - errors[np.argmin(errors.mean(axis=1))]
    standard_error = excess.std(axis=1, ddof=1) / np.sqrt(len(kernel))
    return float(alphas[excess.mean(axis=1) <= standard_error].min())


def leave_one_out_errors(kernel: np.ndarray, points: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return the squared leave-one-out error of each point for each alpha, shape (n_alphas, n)."""
    # With G = K + alpha I, the leave-one-out residual of kernel ridge regression of t at object i is (G⁻¹t)ᵢ /
    # (G⁻¹)ᵢᵢ. Here t are the points minus their mean, and that mean is without point i too: t = y − mᵢ1. So the
    # residual is that of y minus mᵢ times that of a column of ones.
    n = len(kernel)
    points = points.reshape(n, -1)
    values, vectors = eigh(kernel)
    values = np.maximum(values, 0.0)
    means_of_others = (points.sum(axis=0) - points) / (n - 1)
    projected = vectors.T @ np.column_stack([points, np.ones(n)])
    squared, errors = vectors**2, []
    for alpha in alphas:
        inverse = 1.0 / (values + alpha)
        solved = vectors @ (inverse[:, None] * projected)
        residuals = (solved[:, :-1] - means_of_others * solved[:, -1:]) / (squared @ inverse)[:, None]
        errors.append((residuals**2).sum(axis=1))
    return np.array(errors)
