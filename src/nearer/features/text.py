"""From texts to features: tf-idf of the most informative terms, in rows of unit length.

As in the text experiments of Shalit, Weinshall and Chechik 2012 (LORETA): word counts, the words that are most
informative about the class, tf-idf weights. The steps are scikit-learn's CountVectorizer, our InformationGain and
scikit-learn's TfidfTransformer; one transformer learns a list of terms and weights, which a model file can hold.
"""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.utils import InputTags, Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearer.features.information import InformationGain
from nearer.formats import FeatureTable
from nearer.models import SavedModel
from nearer.parameters import COUNT, Constraint, check_parameters, parametrized, unchanged_on_failure

TERM = r"(?u)\b\w\w+\b"  # words of two or more letters or digits, scikit-learn's pattern


def _is_stop_words(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value is None or (isinstance(value, str) and value == "english")


STOP_WORDS = Constraint(_is_stop_words, "'english', a list of str or None")


@parametrized
class TextFeatures(TransformerMixin, SavedModel, BaseEstimator):
    """Tf-idf of the terms that are most informative about the class, in rows of unit length.

    Terms are words of two or more letters or digits, in lower case.

    Parameters
    ----------
    max_features : int, default=20_000
        Largest number of terms to keep.
    min_df : int, default=2
        Smallest number of texts that a term must occur in.
    stop_words : {"english"}, list of str or None, default="english"
        Words to leave out: scikit-learn's English stop words, those of a list, or none.

    Attributes
    ----------
    terms_ : array of str of shape (n_terms,)
        The terms, most informative first: one column each.
    idf_ : array of shape (n_terms,)
        Inverse document frequency of each term, as in scikit-learn's ``TfidfTransformer``.
    scores_ : array of shape (n_terms,), or None
        Information gain of each term in bits (:class:`nearer.InformationGain`); None without classes.
    column_ : str or None
        The name of the Series of texts, or the column of the FeatureTable; None if they had no name. The command
        line reads this column of a table.

    See Also
    --------
    nearer.InformationGain : The selection of terms.

    Notes
    -----
    A text without any of the terms is a row of zeros.

    Examples
    --------
    >>> from nearer.features import TextFeatures
    >>> texts = ["the cat sat", "a cat and a dog", "stocks fell", "stocks and bonds"]
    >>> words = TextFeatures(max_features=1).fit(texts, ["pets", "pets", "money", "money"])
    >>> words.terms_, words.scores_
    (array(['cat'], dtype=object), array([1.]))
    >>> words.transform(["Cat, cat!", "a dog"]).toarray()
    array([[1.],
           [0.]])
    """

    max_features: int = 20_000
    _: KW_ONLY
    min_df: int = 2
    stop_words: str | list[str] | None = "english"

    _learned_arrays = ("terms_", "idf_", "scores_")
    _learned_values = ("column_",)
    _constraints: ClassVar = {"max_features": COUNT, "min_df": COUNT, "stop_words": STOP_WORDS}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the terms and their weights.

        Parameters
        ----------
        X : list, array or Series of str, or FeatureTable
            The texts.
        y : array of shape (n_texts,), optional
            The class of each text: the terms that are most informative about it are kept. By default the terms
            that occur in most texts are kept. Ties are broken alphabetically.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_array:
        """Learn the terms and their weights, and return the texts as features.

        Parameters
        ----------
        X, y
            As for :meth:`fit`.

        Returns
        -------
        csr_array of shape (n_texts, n_terms)
        """
        check_parameters(self)
        texts = as_texts(X)
        with unchanged_on_failure(self):
            selection = {"stop_words": self.stop_words, "min_df": self.min_df}
            counter = CountVectorizer(token_pattern=TERM, dtype=np.float64, **selection)
            try:
                counts = csr_array(counter.fit_transform(texts))
            except ValueError as error:
                raise ValueError(
                    f"no term is in at least min_df={self.min_df} of the {len(texts)} texts, without stop words"
                ) from error
            order, scores = _order_terms(counts, y)
            order = order[: self.max_features]
            self.terms_ = counter.get_feature_names_out()[order].astype(object)
            self.scores_ = None if scores is None else scores[order]
            counts = counts[:, order]
            self.idf_ = TfidfTransformer().fit(counts).idf_
            self.column_ = _column_name(X)
            return self._weight(counts)

    def transform(self, X: Any) -> csr_array:
        """Return texts as features.

        Parameters
        ----------
        X : list, array or Series of str
            The texts.

        Returns
        -------
        csr_array of shape (n_texts, n_terms)
            Rows of unit length, or of zeros; with sorted indices and without duplicates.
        """
        check_is_fitted(self)
        counter = CountVectorizer(token_pattern=TERM, vocabulary=self.terms_.tolist(), dtype=np.float64)
        return self._weight(csr_array(counter.transform(as_texts(X))))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the terms.

        Parameters
        ----------
        input_features : None
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        array of str of shape (n_terms,)
        """
        check_is_fitted(self)
        return self.terms_

    def _weight(self, counts: csr_array) -> csr_array:
        """Return counts as tf-idf of unit length, as TfidfTransformer does."""
        counts.sort_indices()
        counts.data *= self.idf_[counts.indices]
        return csr_array(normalize(counts, copy=False))

    def _loaded(self) -> None:
        check_parameters(self)
        n = len(self.terms_)
        if self.terms_.dtype.kind != "U" or self.terms_.shape != (n,) or len(set(self.terms_.tolist())) != n:
            raise ValueError("the terms are not a list of different words")
        self.terms_ = self.terms_.astype(object)
        shapes = [part.shape for part in (self.idf_, self.scores_) if part is not None]
        if not n or any(shape != (n,) for shape in shapes):
            raise ValueError(f"{n} terms and idf or scores of shape {shapes} do not fit together")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(string=True, two_d_array=False)
        return tags


def as_texts(X: Any) -> list[str]:
    """Return texts as a list; raise a ValueError that names the first value that is not a text."""
    X = X.X if isinstance(X, FeatureTable) else X
    shape = getattr(X, "shape", None)
    if isinstance(X, str) or not (isinstance(X, list | tuple) if shape is None else len(shape) == 1):
        kind = f"a {type(X).__name__}" + ("" if shape is None else f" of shape {tuple(shape)}")
        raise ValueError(f"texts must be a list, one-dimensional array or Series of str; got {kind}")
    texts = list(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"row {row} is {str(text)[:40]}, of type {type(text).__name__}, and not a text")
    if not texts:
        raise ValueError("there are no texts: at least one is required")
    return texts


def _column_name(X: Any) -> str | None:
    """Return the name of the column that texts come from, if they are a named Series or a FeatureTable."""
    name = X.columns[0] if isinstance(X, FeatureTable) and X.columns else getattr(X, "name", None)
    return name if isinstance(name, str) else None


def _order_terms(counts: csr_array, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the columns, best first, and their information gain if there are classes."""
    if y is None:
        document_frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        return np.argsort(-document_frequency, kind="stable"), None
    check_consistent_length(counts, y)
    gain = InformationGain("all").fit(counts, y)
    return gain.order_, gain.scores_
