"""Models one after another, as scikit-learn's Pipeline: what a model file of several steps comes back as."""

from collections.abc import Iterable
from typing import Any


def fitted_pipeline(steps: Iterable[tuple[str, Any]]) -> Any:
    """Put fitted models together.

    Parameters
    ----------
    steps : iterable of (name, estimator)
        The steps in order, each fitted on what the one before it gives.

    Returns
    -------
    sklearn.pipeline.Pipeline

    Examples
    --------
    >>> from nearer.features import InformationGain, TextFeatures
    >>> texts, y = ["a red cat", "red", "blue cat", "blue"], [0, 0, 1, 1]
    >>> words = TextFeatures().fit(texts)
    >>> best = InformationGain(2).fit(words.transform(texts), y)
    >>> fitted_pipeline([("words", words), ("best", best)]).transform(["red"]).toarray()
    array([[0., 1.]])
    """
    from sklearn.pipeline import Pipeline

    return Pipeline(list(steps))
