"""SoftmaxSimilarity: how alike two objects look to a classifier, mixed with how alike their features are.

Multinomial logistic regression gives every object a probability of each class. The cosine of these is the best
similarity there is for objects of known classes, and says little about others; the cosine of the features, whitened
(:mod:`nearer.similarity.prior`), is for all. Held-out data say how strong the regularization should be, what is compared
and how much it counts.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer.blas import blas_threads_for
from nearer.comparisons.random_state import child_generator
from nearer.features.validation import check_rows_differ, check_scale, positive_weights
from nearer.iterative import IterativeEstimator
from nearer.models import SavedModel
from nearer.monitor import Monitor
from nearer.parameters import (
    AUTO,
    BOOL,
    NONE,
    POSITIVE,
    SHARE,
    Constraint,
    check_parameters,
    either,
    is_auto,
    one_of,
    parametrized,
    unchanged_on_failure,
)
from nearer.selection import Selection, best
from nearer.similarity.comparer import FeatureComparer
from nearer.similarity.inputs import validate_labelled, weights_of_labelled
from nearer.similarity.logistic import (
    DEFAULT_WEIGHT,
    OUTPUTS,
    REGULARIZATIONS,
    WEIGHTS,
    Logistic,
    Search,
    class_vectors,
    mixed,
)
from nearer.similarity.prior import SHRINKAGES, Map, fitted_map, select_shrinkage
from nearer.similarity.validation import VALIDATION, make_folds

DEFAULTS: dict[str, Any] = {
    "shrinkage": 0.3,
    "regularization": 1e-3,
    "output": "probabilities",
    "weight": DEFAULT_WEIGHT,
    "discriminant": False,
}  # where nothing is judged
UNSEEN_DEFAULTS = {**DEFAULTS, "output": "scores", "weight": 0.3}  # for classes that are not in y
SEARCH_SHARE = 0.7  # of the time limit, for the search for settings


CLASS_WEIGHTS = Constraint(
    lambda value: isinstance(value, Mapping) and all(POSITIVE.test(weight) for weight in value.values()),
    "a dict of positive numbers by label",
)


@parametrized
class SoftmaxSimilarity(IterativeEstimator, FeatureComparer, SavedModel, BaseEstimator):
    """A similarity of features for objects of known classes: the cosine of their class probabilities.

    S(x, x') = w cos(p(x), p(x')) + (1 - w) cos(z(x), z(x')), where p are the class probabilities of multinomial
    logistic regression and z the features, as they are or whitened by their covariance within classes. What
    predicts held-out data best is chosen. Dense features need no scaling.

    Parameters
    ----------
    regularization : "auto" or float, default="auto"
        λ of the logistic regression, mean log loss + λ/2 ‖W‖² with columns scaled to one variance.
    output : {"auto", "probabilities", "roots", "scores"}, default="auto"
        What of the classes is compared: probabilities, their square roots, or the scores before the softmax, which
        suit classes that are not in y.
    weight : "auto" or float, default="auto"
        w, from 0 (features only) to 1 (classes only).
    shrinkage : "auto", float or None, default="auto"
        How far the covariance is shrunken before it whitens the features, from 0 to 1; None leaves them as they are.
    discriminant : "auto" or bool, default="auto"
        Whether whitened features are projected onto the span of the class means, as in linear discriminant analysis.
        "auto" chooses together with the shrinkage; where that is given, or fewer than six classes are judged by
        held-out classes, no.
    validation : {"auto", "objects", "classes"}, default="auto"
        What "auto" settings are judged by: held-out objects of the same classes, or held-out classes, where the
        similarity is for classes that are not in y. "auto": objects, unless classes have fewer than five objects on
        average.
    class_weight : "balanced", dict or None, default=None
        Weights of classes, with which the weights of their rows are multiplied: by label, 1 where there is none.
        "balanced" gives every class the same total.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-5
        The fit has converged when three iterations in a row change the objective by no more than this.
    random_state : int, Generator, RandomState or None
        Draws the folds.
    max_seconds : float, optional
        End the fit after this time with what was learned so far.
    callback : callable, optional
        Called with each record of ``history_``, and once per trial while settings are chosen; ``stage`` says which.
        Returning True ends the fit.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (n_classes, d)
        Coefficients of the class scores.
    intercept_ : array of shape (n_classes,)
        Their intercepts.
    components_ : array of shape (n_components, d)
        The map of the features, unless they stay as they are.
    mean_ : array of shape (d,) or None
        What is subtracted from the features before.
    regularization_, output_, weight_, shrinkage_, discriminant_ : float, str, float, float or None, bool
        The settings as used; a shrinkage of None leaves the features as they are.
    selection_ : list of dict or None
        One record per candidate that was tried.
    history_ : list of dict
        One record per iteration: iteration, loss, seconds.
    n_iter_ : int
        Iterations taken.
    converged_ : bool
        Whether the tolerance was met.
    stop_reason_ : str
        Why the fit ended.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from nearer import SoftmaxSimilarity
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SoftmaxSimilarity(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    _learned_arrays = ("coef_", "intercept_", "components_", "mean_", "classes_", "feature_names_in_")
    _learned_values = (
        "regularization_", "output_", "weight_", "shrinkage_", "discriminant_", "selection_", "history_", "n_iter_",
        "converged_", "stop_reason_", "n_features_in_", "threshold_",
    )  # fmt: skip
    _constraints: ClassVar = {
        "regularization": either(AUTO, POSITIVE),
        "output": one_of("auto", *OUTPUTS),
        "weight": either(AUTO, SHARE),
        "shrinkage": either(AUTO, NONE, SHARE),
        "discriminant": either(AUTO, BOOL),
        "validation": VALIDATION,
        "class_weight": either(NONE, one_of("balanced"), CLASS_WEIGHTS),
    }
    _takes_sparse = True
    _metric = "inner product"
    _is_projection = False
    _scales_features = True

    _: KW_ONLY
    regularization: float | str = "auto"
    output: str = "auto"
    weight: float | str = "auto"
    shrinkage: float | str | None = "auto"
    discriminant: bool | str = "auto"
    validation: str = "auto"
    class_weight: Any = None
    max_iter: int = 200
    tol: float = 1e-5
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from class labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features, one row per object.
        y : array of shape (n,)
            Class labels, two different ones at least.
        sample_weight : array of shape (n,), optional
            How much each row counts, where something is learned and where settings are judged: an integer is as many
            rows, 0 none.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        random = child_generator(self.random_state)
        table, labels = validate_labelled(self, X, y, sparse=True)
        counted, weights = positive_weights(weights_of_labelled(sample_weight, y), len(labels))
        table, labels = table[counted], labels[counted]
        check_scale(table)
        check_rows_differ(table)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, '{self.classes_[0]}': a similarity needs at least 2")
        if len(self.classes_) == len(labels):
            warnings.warn(
                f"each of the {len(labels)} classes in y has one object: nothing says which objects belong together, "
                "and settings are not judged. A plain cosine may be as good",
                UserWarning,
                stacklevel=3,
            )
        weights = self._weigh_classes(numbers, weights)
        with self._monitor(self.tol) as monitor, blas_threads_for(table.shape[1]):
            chosen, tried = self._select(table, numbers, weights, random, monitor)
            problem = Logistic(table, numbers, weights)
            # A fit that was ended in the search has the weights of a fold, and no better ones.
            fitted = problem.fit(chosen["regularization"], tried if monitor.stopped else None, monitor)
            result = monitor.result(fitted)
        self.coef_, self.intercept_ = problem.coefficients(fitted)
        found = fitted_map(table, numbers, weights, chosen["shrinkage"], chosen["discriminant"])
        self.__dict__.pop("components_", None)
        self.mean_ = found.mean
        if found.weights is not None:
            self.components_ = np.ascontiguousarray(found.weights.T)
        for name, value in chosen.items():
            setattr(self, f"{name}_", value)
        self._set_result(result, stacklevel=4)

    def _weigh_classes(self, numbers: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Return the weights of rows, multiplied by those of their classes."""
        if self.class_weight is None:
            return weights
        own = np.ones(len(numbers)) if weights is None else weights
        if isinstance(self.class_weight, str):  # "balanced"
            return own / np.bincount(numbers, own)[numbers]
        unknown = sorted(set(self.class_weight) - set(self.classes_.tolist()), key=str)
        if unknown:
            raise ValueError(f"class_weight has a weight of {unknown[0]!r}, which is not in y")
        of_classes = np.array([self.class_weight.get(label, 1.0) for label in self.classes_.tolist()])
        return own * of_classes[numbers]

    def _select(
        self,
        table: Any,
        labels: np.ndarray,
        weights: np.ndarray | None,
        random: np.random.Generator,
        monitor: Monitor,
    ) -> tuple[dict[str, Any], np.ndarray | None]:
        """Return the settings, and weights of the scaled features that they led to.

        First the shrinkage is chosen, then λ and what is compared, then the weight of the classes.
        """
        given = {name: getattr(self, name) for name in DEFAULTS if not is_auto(getattr(self, name))}
        if "shrinkage" in given:
            given.setdefault("discriminant", False)
        if len(given) == len(DEFAULTS):
            return given, None
        folds = make_folds(table, labels, None, random, validation=self.validation, weights=weights)
        if not folds:
            defaults = UNSEEN_DEFAULTS if self.validation == "classes" else DEFAULTS
            return {**defaults, **given}, None
        with monitor.limited(SEARCH_SHARE), monitor.stage("choosing settings", until=0.7) as report:
            trials = []
            if is_auto(self.shrinkage):
                kinds = (given["discriminant"],) if "discriminant" in given else (False, True)
                features_only = {"output": None, "weight": 0.0}
                trials = [
                    replace(trial, settings={**trial.settings, **features_only})
                    for trial in select_shrinkage(folds, SHRINKAGES, report, discriminants=kinds)
                ]
                chosen = best(trials).settings
                given |= {"shrinkage": chosen["shrinkage"], "discriminant": chosen["discriminant"]}
            search = Search(folds, given["shrinkage"], given["discriminant"], monitor, report)
            trials += search.classes(
                REGULARIZATIONS if is_auto(self.regularization) else (float(self.regularization),),
                OUTPUTS if is_auto(self.output) else (self.output,),
            )
            trials += search.weights(WEIGHTS if is_auto(self.weight) else (float(self.weight),))
        self.selection_ = Selection(trials, search.chosen).records()
        return {**given, **search.chosen.settings}, search.start(len(self.classes_))

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "coef_")
        shrinkage = -1.0 if self.shrinkage_ is None else self.shrinkage_
        return np.append(self.coef_, [self.weight_, shrinkage, OUTPUTS.index(self.output_)])

    def class_probabilities(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, n_classes)
            In the order of ``classes_``.
        """
        return softmax(self._scores(self._table(X)), axis=1)

    def _scores(self, table: Any) -> np.ndarray:
        return np.asarray(table @ self.coef_.T) + self.intercept_

    def _query_map(self, table: Any) -> Any:
        components = getattr(self, "components_", None)
        features = Map(self.mean_, None if components is None else components.T).apply(table)
        return mixed(class_vectors(self._scores(table), self.output_), features, self.weight_)

    def _item_map(self, table: Any) -> Any:
        return self._query_map(table)

    def _loaded(self) -> None:
        shape = (len(self.classes_), self.n_features_in_)
        if self.coef_.shape != shape or self.intercept_.shape != shape[:1]:
            raise ValueError(f"coefficients of {shape} have shapes {self.coef_.shape} and {self.intercept_.shape}")
        components, mean = getattr(self, "components_", None), self.mean_
        if components is not None and (components.ndim != 2 or components.shape[1] != shape[1]):
            raise ValueError(f"components_ of {shape[1]} features has shape {components.shape}")
        if mean is not None and mean.shape != shape[1:]:
            raise ValueError(f"mean_ of {shape[1]} features has shape {mean.shape}")
        if self.output_ not in OUTPUTS:
            raise ValueError(f"output_ is {self.output_!r}")
        if not SHARE.test(self.weight_):
            raise ValueError(f"weight_ is {self.weight_!r}")
