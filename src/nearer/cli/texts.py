"""Texts on the command line: a table of them, and the terms that were learned from them.

The terms are chosen by class labels, so they are learned from the same texts as the model: when objects are held
out to judge a fit, from the others alone. A model of texts is saved as a pipeline, terms first, and knows its
column.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nearer.cli.console import count, some
from nearer.cli.tasks import Facts

if TYPE_CHECKING:
    import numpy as np

    from nearer.features import TextFeatures
    from nearer.formats import FeatureTable, TextTable

COLUMN = "text"  # the column of a model that was fitted elsewhere, on texts without a name
SHOWN = 5  # terms


@dataclass(frozen=True)
class Texts:
    """Texts and the features that they are by some terms.

    Attributes
    ----------
    table : TextTable
        The texts.
    words : TextFeatures
        The terms, learned from these texts or from others.
    X : csr_array of shape (n_texts, n_terms)
        The features.
    """

    table: "TextTable"
    words: "TextFeatures"
    X: Any

    @classmethod
    def learned(cls, table: "TextTable", n_terms: int) -> Self:
        """Learn the terms from the texts, and from their labels where they have any."""
        from nearer.features import TextFeatures

        words = TextFeatures(n_terms)
        X = words.fit_transform(table.texts, table.labels)
        words.column_ = table.column
        return cls(table, words, X)

    def features(self) -> "FeatureTable":
        """Return the texts as a table of features."""
        from nearer.formats import FeatureTable

        return FeatureTable(self.table.path, self.X, labels=self.table.labels, names=self.table.names)

    def split(self, held_out: "np.ndarray") -> tuple[Self, Self]:
        """Return the texts that are not held out, with terms learned anew, and the others by the same terms."""
        train, test = _part(self.table, ~held_out), _part(self.table, held_out)
        learned = self.learned(train, self.words.max_features)
        return learned, type(self)(test, learned.words, learned.words.transform(test.texts))

    def about(self) -> Facts:
        """Say what there is."""
        terms, empty = self.words.terms_, len(self.table) - len(set(self.X.nonzero()[0].tolist()))
        how = "in most texts" if self.words.scores_ is None else "most telling"
        said = [("objects", f"{len(self.table):,}"), ("terms", f"{len(terms):,}; {how}: {some(terms, SHOWN)}")]
        return [*said, ("without terms", count(empty, "text"))] if empty else said

    def save(self, model: Any, path: Path) -> None:
        """Write a model that was fitted on the features, behind the terms."""
        from nearer.models import fitted_pipeline, save_model

        save_model(fitted_pipeline([("terms", self.words), ("model", model)]), path)


def _part(table: "TextTable", chosen: "np.ndarray") -> "TextTable":
    labels = None if table.labels is None else table.labels[chosen]
    return replace(table, texts=table.texts[chosen], labels=labels, names=None)
