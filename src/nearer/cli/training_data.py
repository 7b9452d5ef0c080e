"""What ``nearer fit`` learns from: answers, with or without features, or features with class labels.

Both can describe themselves, hold out a part, fit a model and evaluate it on what was held out, so that the
command is the same for every model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nearer.cli.app import Facts, count, percent, some
from nearer.cli.models import last_step

if TYPE_CHECKING:
    from nearer import Comparisons
    from nearer.formats import FeatureTable

FEWEST = 10  # answers; of fewer none are held out
UNEVEN = 100.0  # a ratio of the ranges of two columns that is worth a note
MOST_HELD_OUT = 10_000  # objects: each is compared with every other


class TooFewError(ValueError):
    """Why nothing can be held out."""


@dataclass(frozen=True)
class Answers:
    """Answers about objects: by themselves, or about the rows of a table of features or texts."""

    answers: "Comparisons"
    table: "FeatureTable | None" = None
    groups: str | None = None  # "subjects": people are held out, not answers

    def describe(self) -> Facts:
        """Return what there is."""
        from nearer.comparisons.rows import count_repeats, question_codes

        answers = self.answers
        _, contradictions = count_repeats(*question_codes(answers.rows, answers.n_objects))
        return [
            *([("objects", f"{answers.n_objects:,}")] if self.table is None else _describe_table(self.table)),
            ("answers", f"{answers.n_answers:,}"),
            ("rows", f"{len(answers):,}"),
            ("contradictions", f"{contradictions:,}"),
        ]

    def by_subject(self) -> Self:
        """Return the same answers, of which people are held out as a whole."""
        if self.answers.subjects is None:
            raise ValueError(
                "--by-subject needs a column subject, or participant: these answers do not say whose they are"
            )
        if len(set(self.answers.subjects.tolist())) < 2:
            raise ValueError("--by-subject holds out people: all these answers are of one")
        return replace(self, groups="subjects")

    @property
    def size(self) -> str:
        """How many answers there are."""
        return count(self.answers.n_answers, "answer")

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Hold out a share of the answers, each of them whole."""
        if self.answers.n_answers < FEWEST:
            raise TooFewError(f"{self.size} are too few")
        train, test = self.answers.split(share, random_state=seed, groups=self.groups)
        return replace(self, answers=train), replace(self, answers=test)

    def fit(self, model: Any) -> None:
        """Fit a model."""
        answers = self.answers if self.groups is None else self.answers.group(self.groups)
        if self.table is None:
            model.fit(answers)
        else:
            argument = "model__comparisons" if hasattr(model, "steps") else "comparisons"
            model.fit(self.table, **{argument: answers})

    def evaluate(self, model: Any, test: Self | None) -> Facts:
        """Return the share of answers that a model satisfies, of those held out also by plain distances."""
        import numpy as np

        from nearer.metrics import triplet_error

        before, estimator = last_step(model)
        if self.table is None:
            score = estimator.score
        else:
            score = partial(estimator.score_comparisons, _transform(before, self.table))
        facts = [("training", _satisfied(self.answers, score))]
        if test is None:
            return facts
        unseen = "of people whom this fit has not seen" if self.groups else "that this fit was not shown"
        facts.append(("held out", f"{_satisfied(test.answers, score)} {unseen}"))
        if self.table is not None and isinstance(self.table.X, np.ndarray) and before is None:
            X = self.table.X
            plain = _satisfied(test.answers, lambda answers: 1.0 - triplet_error(X, answers))
            facts.append(("plain", f"{plain} by Euclidean distance"))
        return facts


def _satisfied(answers: "Comparisons", score: Callable[["Comparisons"], float]) -> str:
    n_answers = count(answers.n_answers, "answer")
    if answers.weights is not None and not answers.weights.any():
        return f"none: the weights of all {n_answers} are 0"
    return f"{percent(score(answers))} of {n_answers}"


@dataclass(frozen=True)
class Labeled:
    """Features or texts of objects, and the class label of each."""

    table: "FeatureTable"

    def describe(self) -> Facts:
        """Return what there is."""
        return [*_describe_table(self.table), ("classes", f"{len(set(self._labels.tolist())):,}")]

    def by_subject(self) -> Self:
        """Refuse: labels are of objects, not of people."""
        raise ValueError("--by-subject is for answers: class labels have no subjects")

    @property
    def size(self) -> str:
        """How many objects there are."""
        return count(len(self.table), "object")

    @property
    def _labels(self) -> Any:
        return self.table.labels

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Hold out a share of the objects of each class: at least two, which can then find each other."""
        import numpy as np

        random = np.random.default_rng(seed)
        share = min(share, MOST_HELD_OUT / len(self.table))
        _, numbers, sizes = np.unique(self._labels, return_inverse=True, return_counts=True)
        n_held_out = np.minimum(np.maximum(np.round(share * sizes), 2), sizes - 2)
        n_held_out[(share * sizes < 0.5) | (n_held_out < 2)] = 0
        if np.count_nonzero(n_held_out) < 2:
            raise TooFewError(f"{self.size} in {len(sizes)} classes are too few")
        order = random.permutation(len(numbers))
        order = order[np.argsort(numbers[order], kind="stable")]  # class by class, shuffled in each
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        held_out = np.zeros(len(order), dtype=bool)
        held_out[order] = place < np.repeat(n_held_out, sizes)
        return type(self)(self.table[~held_out]), type(self)(self.table[held_out])

    def fit(self, model: Any) -> None:
        """Fit a model."""
        model.fit(self.table, self._labels)

    def evaluate(self, model: Any, test: Self | None) -> Facts:
        """Return how well held-out objects find others of their class, by the model and by plain distances."""
        from nearer.metrics import retrieval_map_scorer

        if test is None:
            return []
        before, estimator = last_step(model)
        X = _transform(before, test.table)
        learned = retrieval_map_scorer(estimator, X, test._labels)
        plain = retrieval_map_scorer("passthrough", test.table.X if before is None else X, test._labels)
        return [
            ("held out", f"mean average precision {learned:.3f} among {test.size} that this fit was not shown"),
            ("plain", f"mean average precision {plain:.3f} by Euclidean distance"),
        ]


def _transform(before: Any, table: "FeatureTable") -> Any:
    return table if before is None else before.transform(table)


def _describe_table(table: "FeatureTable") -> Facts:
    import numpy as np

    facts = [("objects", f"{len(table):,}")]
    if len(table.shape) < 2:
        return facts  # texts
    facts.append(("features", f"{table.shape[1]:,}"))
    if isinstance(table.X, np.ndarray):
        ranges = np.ptp(table.X, axis=0)
        ranges = ranges[ranges > 0]
        if len(ranges) and ranges.max() > UNEVEN * ranges.min():
            ratio = f"columns differ {ranges.max() / ranges.min():,.0f}-fold"
            facts.append(("spread", f"{ratio}: scaled to a common range, such as -1 to 1, learning works better"))
    return facts


def read_data(files: list[Path], options: Mapping[str, Any], model: Any) -> Answers | Labeled:
    """Read what a model is to learn from: files of answers, or a table with labels or with answers about it."""
    from nearer import Comparisons, read
    from nearer.formats import read_features, read_texts
    from nearer.formats.features import check_sparse, match_rows

    if not {"labels", "comparisons"} & set(options):
        parts = [read(path) for path in files]
        return Answers(parts[0] if len(parts) == 1 else Comparisons.concat(parts))
    if len(files) > 1:
        raise ValueError(f"one table of features is wanted; got {count(len(files), 'file')}: {some(files)}")
    beside = {name: options.get(name) for name in ("labels", "names")}
    if "text" in options:
        table = read_texts(files[0], options["text"], **beside)
    else:
        table = read_features(files[0], **beside, ignored=options.get("ignore", ()))
        check_sparse(model, table)
    if "labels" in options:
        return Labeled(table)
    source = options["comparisons"]
    answers, rows = match_rows(read(source), table, source)
    matched = rows[answers.rows]
    if matched.min(initial=0) < 0:
        missing = sorted(set(answers.rows[matched < 0].tolist()))
        unknown = missing if answers.names is None else [answers.names[number] for number in missing]
        raise ValueError(f"{source} is about objects that {table.path} does not have: {some(unknown)}")
    columns: dict[str, Any] = {name: getattr(answers, name) for name in ("weights", "subjects", "answers")}
    by_row = Comparisons(matched, n_objects=len(table), **columns)
    return Answers(by_row, table)
