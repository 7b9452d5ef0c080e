"""From texts to features: the terms that tell most, weighted, in rows of unit length.

The way of the text experiments of Shalit, Weinshall and Chechik 2012 (LORETA): counts of words, of these the most
informative about the class, weighted by how rare they are (tf-idf). The steps are scikit-learn's CountVectorizer,
our InformationGain and scikit-learn's TfidfTransformer; here they are one transformer, whose learned part is a
list of terms and their weights, so that it can be saved in a model file.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearer.features.information import InformationGain
from nearer.formats import FeatureTable
from nearer.models import SavedModel
from nearer.parameters import check, is_count, unchanged_on_failure

TERM = r"(?u)\b\w\w+\b"  # words of two or more letters or digits, scikit-learn's own pattern


class TextFeatures(TransformerMixin, SavedModel, BaseEstimator):
    """Texts as rows of unit length: tf-idf of the terms that tell most about the class, best first.

    Terms are words of two or more letters or digits, in lower case.

    Parameters
    ----------
    n_terms : int, default=20_000
        How many terms to keep at most.
    min_documents : int, default=2
        Leave out terms that are in fewer texts than this.
    stop_words : {"english"}, list of str or None, default="english"
        Words that are no terms: scikit-learn's English ones, those of a list, or none.

    Attributes
    ----------
    terms_ : array of str of shape (n_terms,)
        The terms, best first: one column each.
    weights_ : array of shape (n_terms,)
        Inverse document frequency of each term, as scikit-learn's ``TfidfTransformer`` has it.
    scores_ : array of shape (n_terms,), or None
        Bits that each term tells about the class (:class:`nearer.InformationGain`); None without classes.
    column_ : str or None
        The name of the Series of texts, or the column of the FeatureTable; None if they had no name. The command
        line reads this column of a table.

    See Also
    --------
    nearer.InformationGain : The choice of terms.

    Notes
    -----
    A text without any of the terms is a row of zeros.

    Examples
    --------
    >>> from nearer.features import TextFeatures
    >>> texts = ["the cat sat", "a cat and a dog", "stocks fell", "stocks and bonds"]
    >>> words = TextFeatures(n_terms=1).fit(texts, ["pets", "pets", "money", "money"])
    >>> words.terms_, words.scores_
    (array(['cat'], dtype=object), array([1.]))
    >>> words.transform(["Cat, cat!", "a dog"]).toarray()
    array([[1.],
           [0.]])
    """

    _learned_arrays = ("terms_", "weights_", "scores_")
    _learned_values = ("column_",)

    def __init__(
        self,
        n_terms: int = 20_000,
        *,
        min_documents: int = 2,
        stop_words: str | list[str] | None = "english",
    ) -> None:
        self.n_terms = n_terms
        self.min_documents = min_documents
        self.stop_words = stop_words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the terms and their weights.

        Parameters
        ----------
        X : list, array or Series of str, or FeatureTable
            The texts.
        y : array of shape (n_texts,), optional
            The class of each: then the terms are those that tell most about it. By default they are those that are
            in most texts; of equal ones, here and there, the first in the alphabet.

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
        self._check_parameters()
        texts = as_texts(X)
        with unchanged_on_failure(self):
            counter = CountVectorizer(
                token_pattern=TERM, stop_words=self.stop_words, min_df=self.min_documents, dtype=np.float64
            )
            counts = self._counted(counter, texts)
            order, scores = _in_order(counts, y)
            chosen = order[: self.n_terms]
            self.terms_ = counter.get_feature_names_out()[chosen].astype(object)
            self.scores_ = None if scores is None else scores[chosen]
            counts = counts[:, chosen]
            self.weights_ = TfidfTransformer().fit(counts).idf_
            self.column_ = _column_name(X)
            return self._weighted(counts)

    def transform(self, X: Any) -> csr_array:
        """Return texts as features.

        Parameters
        ----------
        X : list, array or Series of str
            The texts.

        Returns
        -------
        csr_array of shape (n_texts, n_terms)
            Rows of unit length, or of zeros; indices are sorted and none is there twice.
        """
        check_is_fitted(self)
        counter = CountVectorizer(token_pattern=TERM, vocabulary=self.terms_.tolist(), dtype=np.float64)
        return self._weighted(csr_array(counter.transform(as_texts(X))))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the terms.

        Parameters
        ----------
        input_features : None
            Is here for scikit-learn and means nothing.

        Returns
        -------
        array of str of shape (n_terms,)
        """
        check_is_fitted(self)
        return self.terms_

    def _counted(self, counter: CountVectorizer, texts: Sequence[str]) -> csr_array:
        try:
            return csr_array(counter.fit_transform(texts))
        except ValueError as error:
            raise ValueError(
                f"no term is in at least min_documents={self.min_documents} of the {len(texts)} texts, when stop "
                "words are left out"
            ) from error

    def _weighted(self, counts: csr_array) -> csr_array:
        """Return counts as tf-idf of unit length, as TfidfTransformer does."""
        counts.sort_indices()
        counts.data *= self.weights_[counts.indices]
        return csr_array(normalize(counts, copy=False))

    def _check_parameters(self) -> None:
        check(self, "n_terms", is_count(self.n_terms), "a whole number > 0")
        check(self, "min_documents", is_count(self.min_documents), "a whole number > 0")
        words = self.stop_words
        listed = isinstance(words, list) and all(isinstance(word, str) for word in words)
        good = words is None or listed or (isinstance(words, str) and words == "english")
        check(self, "stop_words", good, "'english', a list of str or None")

    def _loaded(self) -> None:
        """Refuse what was read where it does not fit together."""
        self._check_parameters()
        n = len(self.terms_)
        if self.terms_.dtype.kind != "U" or self.terms_.shape != (n,) or len(set(self.terms_.tolist())) != n:
            raise ValueError("the terms are not a list of words, each there once")
        self.terms_ = self.terms_.astype(object)
        shapes = [part.shape for part in (self.weights_, self.scores_) if part is not None]
        if not n or any(shape != (n,) for shape in shapes):
            raise ValueError(f"{n} terms and weights or scores of shape {shapes} do not fit together")

    def __sklearn_tags__(self) -> Tags:
        """Say that texts are wanted, and no table of numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def as_texts(X: Any) -> list[str]:
    """Return texts as a list; ValueError that names the first that is none.

    Examples
    --------
    >>> as_texts(["a cat", None])
    Traceback (most recent call last):
    ValueError: row 1 is None, of type NoneType, where a text is wanted
    """
    X = X.X if isinstance(X, FeatureTable) else X
    shape = getattr(X, "shape", None)
    if isinstance(X, str) or not (isinstance(X, list | tuple) if shape is None else len(shape) == 1):
        what = f"a {type(X).__name__}" + ("" if shape is None else f" of shape {tuple(shape)}")
        raise ValueError(f"texts are wanted as a list, one-dimensional array or Series of str; got {what}")
    texts = list(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(
                f"row {row} is {str(text)[:40]}, of type {type(text).__name__}, where a text is wanted"
            )
    if not texts:
        raise ValueError("there are no texts: at least one is wanted")
    return texts


def _column_name(X: Any) -> str | None:
    """Return the name of the column that texts come from, if they are a named Series or a FeatureTable."""
    name = X.columns[0] if isinstance(X, FeatureTable) and X.columns else getattr(X, "name", None)
    return name if isinstance(name, str) else None


def _in_order(counts: csr_array, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the columns, best first, and what they tell about classes where there are any."""
    if y is None:
        documents = np.bincount(counts.indices, minlength=counts.shape[1])
        return np.argsort(-documents, kind="stable"), None
    check_consistent_length(counts, y)
    gain = InformationGain("all").fit(counts, y)
    return gain.order_, gain.scores_
