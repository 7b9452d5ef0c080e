"""Features on the command line: what models are taught with, and the table that a model file is asked about.

A model of features does not hold its objects. They come from a file, when it is fitted and whenever it is asked.
The headers of the features are kept with the model, so that another file may have its columns in another order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import typer

from nearer.cli.console import aside, count, some
from nearer.cli.tasks import Facts, TooFewError, satisfied, share_of, split_answers
from nearer.cli.texts import COLUMN, Texts

if TYPE_CHECKING:
    import numpy as np

    from nearer import Comparisons
    from nearer.formats import FeatureTable

FEATURES: Any = typer.Option(
    "--features", help="For a model of features: the table of the objects' features.", show_default=False
)
NAMES: Any = typer.Option(
    "--names", metavar="COLUMN", help="The column of --features that holds names.", show_default="name"
)
UNEVEN = 100.0  # columns that differ more than this in their spread are worth a word
MOST_JUDGED = 10_000  # objects are held out at most: each is compared with every other


@dataclass(frozen=True)
class Labelled:
    """Features of objects, and the class of each; the texts that they are of, where they are."""

    table: "FeatureTable"
    texts: Texts | None = None

    @property
    def labels(self) -> "np.ndarray":
        """The class of each object."""
        labels = self.table.labels
        assert labels is not None  # the table was read for them
        return labels

    def about(self) -> Facts:
        """Say what there is."""
        return [*_about(self.table, self.texts), ("classes", f"{len(set(self.labels.tolist())):,}")]

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Keep back a share of the objects of each class: two at least, as they are to find each other."""
        import numpy as np

        random = np.random.default_rng(seed)
        share = min(share, MOST_JUDGED / len(self.table))
        _, numbers, sizes = np.unique(self.labels, return_inverse=True, return_counts=True)
        kept_back = np.minimum(np.maximum(np.round(share * sizes), 2), sizes - 2)
        kept_back[(share * sizes < 0.5) | (kept_back < 2)] = 0
        if np.count_nonzero(kept_back) < 2:
            raise TooFewError(f"{count(len(self.table), 'object')} in {len(sizes)} classes are too few")
        order = random.permutation(len(numbers))
        order = order[np.argsort(numbers[order], kind="stable")]  # class by class, shuffled in each
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        held_out = np.zeros(len(order), dtype=bool)
        held_out[order] = place < np.repeat(kept_back, sizes)
        if self.texts is None:
            return self._part(~held_out), self._part(held_out)
        train, test = self.texts.split(held_out)
        return type(self)(train.features(), train), type(self)(test.features(), test)

    def _part(self, chosen: "np.ndarray") -> Self:
        return type(self)(replace(self.table, X=self.table.X[chosen], labels=self.labels[chosen], names=None))

    def teach(self, model: Any) -> None:
        """Fit a model on it."""
        model.fit(self.table.X, self.labels)

    def judge(self, model: Any, held_out: Self | None) -> Facts:
        """Say how well objects that were held out find others of their class, by the model and without it."""
        from nearer.metrics import retrieval_map_scorer

        if held_out is None:
            return []
        X, labels = held_out.table.X, held_out.labels
        learned, plain = (retrieval_map_scorer(each, X, labels) for each in (model, "passthrough"))
        among = f"{count(len(labels), 'object')} that this fit was not shown"
        return [
            ("held out", f"mean average precision {learned:.3f} among {among}"),
            ("plain", f"mean average precision {plain:.3f} by Euclidean distance"),
        ]

    def size(self) -> str:
        """Say how much it is."""
        return count(len(self.table), "object")

    def save(self, model: Any, path: Path) -> None:
        """Write a model that was fitted on it."""
        _save(model, self.table, self.texts, path)


@dataclass(frozen=True)
class Compared:
    """Features of objects, and answers about them by row number; the texts that they are of, where they are."""

    table: "FeatureTable"
    answers: "Comparisons"
    texts: Texts | None = None

    def about(self) -> Facts:
        """Say what there is."""
        about = self.answers.report()
        return [
            *_about(self.table, self.texts),
            ("answers", f"{about.answers:,}"),
            ("rows", f"{about.rows:,}"),
            ("contradictions", f"{about.contradictions:,}"),
        ]

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Keep back a share of the answers."""
        train, test = split_answers(self.answers, share, seed)
        return replace(self, answers=train), replace(self, answers=test)

    def teach(self, model: Any) -> None:
        """Fit a model on it."""
        model.fit(self.table.X, comparisons=self.answers)

    def judge(self, model: Any, held_out: Self | None) -> Facts:
        """Say which share of the answers a model satisfies, and plain distance of those held out."""
        from scipy.sparse import issparse

        from nearer.metrics import triplet_error

        X, others = self.table.X, None if held_out is None else held_out.answers
        said = satisfied(lambda answers: model.score_comparisons(X, answers), self.answers, others)
        if others is not None and not issparse(X):
            plain = share_of(others, lambda answers: 1.0 - triplet_error(X, answers))
            said.append(("plain", f"{plain} by Euclidean distance"))
        return said

    def size(self) -> str:
        """Say how much it is."""
        return count(self.answers.n_answers, "answer")

    def save(self, model: Any, path: Path) -> None:
        """Write a model that was fitted on it."""
        _save(model, self.table, self.texts, path)


def read_given(paths: list[Path], options: Mapping[str, Any], model: Any, n_terms: int) -> Labelled | Compared:
    """Read what a model of features is to learn from: a table, and labels in it or answers about it.

    Parameters
    ----------
    paths : list of Path
        The table, alone.
    options : mapping of str to object
        Those of `nearer fit`, of which labels, comparisons, names, ignore and text matter here.
    model : estimator
        What is to be fitted.
    n_terms : int
        How many terms of texts to keep.
    """
    from nearer import read
    from nearer.formats import read_features, read_texts

    if len(paths) > 1:
        raise ValueError(f"one table of features is wanted; got {count(len(paths), 'file')}: {some(paths)}")
    beside = {"labels": options["labels"], "names": options["names"]}
    if options["text"] is None:
        texts, table = None, read_features(paths[0], **beside, ignored=options["ignore"] or [])
    else:
        texts = Texts.learned(read_texts(paths[0], options["text"], **beside), n_terms)
        table = texts.features()
    _check_kind(model, table)
    comparisons = options["comparisons"]
    if comparisons is None:
        return Labelled(table, texts)
    numbers, answers = rows_of(table, read(comparisons), comparisons)
    unknown = strangers(answers, numbers)
    if unknown:
        raise ValueError(f"{comparisons} is about objects that {table.path} does not have: {unknown}")
    return Compared(table, by_row(answers, numbers, len(table)), texts)


def features_for(model: Any, before: Any, path: Path, names: str | None) -> "FeatureTable":
    """Read the features that a model was fitted with, in its order, whatever the order in the file.

    Parameters
    ----------
    model : estimator
        What compares features.
    before : Pipeline or None
        What its features come from; None: from the file as they are.
    path : Path
        The table.
    names : str or None
        Its column of names.
    """
    from nearer.formats import FeatureTable, read_texts

    if before is None:
        return _numbers_for(model, path, names)
    if hasattr(before[0], "terms_"):
        texts = read_texts(path, before[0].column_ or COLUMN, names=names)
        return FeatureTable(path, before.transform(texts.texts), names=texts.names)
    table = _numbers_for(before[0], path, names)
    return replace(table, X=before.transform(table.X))


def _numbers_for(model: Any, path: Path, names: str | None) -> "FeatureTable":
    from nearer.formats import read_features

    # Taken from the model: scikit-learn would warn that an array has no headers, and they are matched here.
    columns = vars(model).pop("feature_names_in_", None)
    table = read_features(path, names=names, columns=None if columns is None else columns.tolist())
    if table.n_features != model.n_features_in_:
        raise ValueError(
            f"{path} has {count(table.n_features, 'feature')}, and the model was fitted with "
            f"{model.n_features_in_:,}"
        )
    _check_kind(model, table)
    if table.others:
        aside(f"left out of {path}, as the model was fitted without: {some(table.others)}")
    return table


def rows_of(table: "FeatureTable", answers: "Comparisons", path: Path) -> tuple["np.ndarray", "Comparisons"]:
    """Return the row of the table that each object of the answers is, -1 for none, and the answers.

    Objects are matched by name where both have names, and else by number. Where the names of a table are
    themselves numbers, be it with zeros before them, answers by number are taken to name them.
    """
    import numpy as np

    from nearer import Comparisons

    names = table.names
    if answers.names is None and names is not None and all(name.isdecimal() for name in names):
        bare = tuple(str(int(name)) for name in names)
        names = bare if len(set(bare)) == len(bare) else names
        called, rows = np.unique(answers.rows, return_inverse=True)
        rows, texts = rows.reshape(answers.rows.shape), [str(number) for number in called.tolist()]
        answers = Comparisons(rows, names=texts, weights=answers.weights, answers=answers.answers)
    if answers.names is None:
        numbers = np.arange(answers.n_objects)
        return np.where(numbers < len(table), numbers, -1), answers
    if names is None:
        raise ValueError(f"{path} names its objects and {table.path} has no names: they cannot be matched")
    place = {name: number for number, name in enumerate(names)}
    return np.array([place.get(name, -1) for name in answers.names], dtype=np.intp), answers


def by_row(answers: "Comparisons", numbers: "np.ndarray", n_rows: int) -> "Comparisons":
    """Return answers about the rows of a table, each of their objects being the row of that number."""
    from nearer import Comparisons

    return Comparisons(numbers[answers.rows], n_objects=n_rows, weights=answers.weights, answers=answers.answers)


def strangers(answers: "Comparisons", numbers: "np.ndarray") -> str:
    """Name the objects of answers that have no row in the table."""
    import numpy as np

    asked = np.unique(answers.rows)
    unknown = asked[numbers[asked] < 0].tolist()
    return some(unknown if answers.names is None else [answers.names[number] for number in unknown])


def _about(table: "FeatureTable", texts: Texts | None) -> Facts:
    import numpy as np
    from scipy.sparse import issparse

    if texts is not None:
        return texts.about()
    said = [("objects", f"{len(table):,}"), ("features", f"{table.n_features:,}")]
    if not issparse(table.X):
        spread = np.ptp(table.X, axis=0)
        spread = spread[spread > 0]
        if len(spread) and spread.max() > UNEVEN * spread.min():
            ratio = spread.max() / spread.min()
            said.append(
                (
                    "spread",
                    f"columns differ {ratio:,.0f}-fold: brought to one scale, such as -1 to 1, they teach more",
                )
            )
    return said


def _check_kind(model: Any, table: "FeatureTable") -> None:
    from scipy.sparse import issparse

    if issparse(table.X) and not model.__sklearn_tags__().input_tags.sparse:
        raise ValueError(f"{table.path} holds sparse features; {type(model).__name__} takes dense ones only")


def _save(model: Any, table: "FeatureTable", texts: Texts | None, path: Path) -> None:
    import numpy as np

    if texts is not None:
        texts.save(model, path)
        return
    if table.columns is not None:
        model.feature_names_in_ = np.array(table.columns, dtype=object)
    model.save(path)
