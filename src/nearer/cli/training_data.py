"""What ``nearer fit`` learns from: answers, with or without features; or features with class labels or several labels.

All can describe themselves, hold out a part, fit a model and evaluate it on what was held out, so that the
command is the same for every model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nearer.cli.app import Facts, count, percent, some
from nearer.cli.models import last_step

if TYPE_CHECKING:
    from nearer import Comparisons
    from nearer.formats import FeatureTable
    from nearer.selection import HeldOut

FEWEST = 10  # answers; of fewer none are held out
FEW_ANSWERS = 20_000  # up to here they are held out in turn; of more a part is held out once
FEW_OF_KERNEL = 1_000  # the same for kernels, whose fits take longer
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
    never_asked: Sequence[str] = ()  # objects that were left out

    fits_again = True  # on all of the data, after a part was held out

    @classmethod
    def of(cls, answers: "Comparisons") -> Self:
        """Return answers without the objects that none of them is about."""
        from nearer.comparisons.coerce import drop_unasked

        asked, never_asked = drop_unasked(answers)
        asked._fill(n_dropped=answers.n_dropped)
        return cls(asked, never_asked=never_asked)

    @cached_property
    def _questions(self) -> Any:
        """The number of the question that each row answers, and which of its two answers it gives."""
        from nearer.comparisons.rows import question_codes

        return question_codes(self.answers.rows, self.answers.n_objects)

    def describe(self, is_scaled: bool = False) -> Facts:
        """Return what there is; with advice on the scale of features, unless the model takes care of it."""
        from nearer.comparisons.rows import count_repeats

        answers = self.answers
        _, contradictions = count_repeats(*self._questions)
        objects = [("objects", f"{answers.n_objects:,}")]
        if self.never_asked:
            unasked = count(len(self.never_asked), "object")
            objects.append(("never asked", f"{unasked}, left out of the model: {some(self.never_asked)}"))
        dropped = [("left out", count(answers.n_dropped, "bad row"))] if answers.n_dropped else []
        return [
            *(objects if self.table is None else _describe_table(self.table, is_scaled)),
            *dropped,
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
        """Hold out a share of the answers, each of them whole, and all answers to a question together."""
        from nearer.selection.folds import hold_out

        if self.answers.n_answers < FEWEST:
            raise TooFewError(f"{self.size} {'is' if self.answers.n_answers == 1 else 'are'} too few")
        if self.groups is not None:
            train, test = self.answers.split(share, random_state=seed, groups=self.groups)
        else:
            try:
                train, test = hold_out(self.answers, share, seed, self._questions[0])
            except ValueError as error:
                raise TooFewError(str(error)) from None
        return replace(self, answers=train), replace(self, answers=test)

    def cross_validate(self, model: Any, seed: int, verbose: bool) -> "HeldOut":
        """Return how well models that are fitted to most of the answers predict the others."""
        from nearer.selection import held_out

        return held_out(model, self.answers, groups=self.groups, random_state=seed, verbose=verbose)

    def can_cross_validate(self, model: Any) -> bool:
        """Whether there are few enough answers for many fits."""
        most = FEW_ANSWERS if hasattr(model, "n_components") else FEW_OF_KERNEL
        return self.table is None and FEWEST <= self.answers.n_answers <= most

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

        from nearer.comparisons.coerce import mentioned_objects
        from nearer.metrics import triplet_error
        from nearer.selection import noise_ceiling
        from nearer.selection.estimate import summarize
        from nearer.selection.folds import question_groups
        from nearer.selection.intervals import are_correct

        before, estimator = last_step(model)
        if self.table is None:
            score, predict = estimator.score, estimator.predict
        else:
            X = _transform(before, self.table)
            score, predict = partial(estimator.score_comparisons, X), partial(estimator.predict_comparisons, X)
        facts = [("training", _satisfied(self.answers, score))]
        if test is None:
            return facts
        if test.answers.weights is not None and not test.answers.weights.any():
            facts.append(("held out", _satisfied(test.answers, score)))
        else:
            if self.groups is None:
                units = question_groups(test.answers, test._questions[0])
            else:
                units = test.answers.group(self.groups).answers
            mentioned = mentioned_objects(self.answers) | mentioned_objects(test.answers)
            held_out = summarize(
                are_correct(predict, test.answers), test.answers, units, groups=self.groups,
                n_given=self.answers.n_answers + test.answers.n_answers,
                n_objects=int(mentioned.sum()) if self.table is None else 0, ceiling=noise_ceiling(self.answers),
            )  # fmt: skip
            facts += held_out.facts()
        if self.table is not None and isinstance(self.table.X, np.ndarray) and before is None:
            plain = _satisfied(test.answers, lambda answers: 1.0 - triplet_error(X, answers))
            facts.append(("plain", f"{plain} by Euclidean distance"))
        return facts


def _satisfied(answers: "Comparisons", score: Callable[["Comparisons"], float]) -> str:
    n_answers = count(answers.n_answers, "answer")
    if answers.weights is not None and not answers.weights.any():
        return f"none: the weights of all {n_answers} are 0"
    return f"{percent(score(answers))} of {n_answers}"


PLAIN = {"Euclidean": "by Euclidean distance", "cosine": "by plain cosine", "LDA": "by cosine after LDA"}


@dataclass(frozen=True)
class Labeled:
    """Features or texts of objects, and the class label of each."""

    table: "FeatureTable"

    fits_again = True

    def describe(self, is_scaled: bool = False) -> Facts:
        """Return what there is; with advice on the scale of features, unless the model takes care of it."""
        return [*_describe_table(self.table, is_scaled), ("classes", f"{len(set(self._labels.tolist())):,}")]

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

    def can_cross_validate(self, model: Any) -> bool:
        """Objects are held out once."""
        return False

    def fit(self, model: Any) -> None:
        """Fit a model."""
        model.fit(self.table, self._labels)

    def evaluate(self, model: Any, test: Self | None) -> Facts:
        """Return how well held-out objects find others of their class, by the model and by simple alternatives."""
        from nearer.metrics import retrieval_map_scorer
        from nearer.similarity import baseline_scores

        if test is None:
            return []
        before, estimator = last_step(model)
        X, train = _transform(before, test.table), _transform(before, self.table)
        learned = retrieval_map_scorer(estimator, X, test._labels)
        tables = (self.table.X, test.table.X) if before is None else (train, X)
        plain = baseline_scores(tables[0], self._labels, tables[1], test._labels)
        others = ", ".join(f"{score:.3f} {PLAIN[name]}" for name, score in plain.items())
        return [
            ("held out", f"mean average precision {learned:.3f} among {test.size} that this fit was not shown"),
            ("baselines", others),
        ]


LABEL_SEPARATOR = ";"
BY = {"popularity": "by popularity", "ridge": "by ridge regression"}


@dataclass(frozen=True)
class Tagged(Labeled):
    """Features of objects, and the labels of each: an indicator matrix with a column per label of the file."""

    indicator: Any
    names: Any

    @classmethod
    def of(cls, table: "FeatureTable") -> Self:
        """Return a table whose cells of labels hold several, separated by semicolons."""
        import numpy as np
        from scipy.sparse import csr_array

        cells = [str(cell).split(LABEL_SEPARATOR) for cell in table.labels.tolist()]  # type: ignore[union-attr]
        labels = [sorted({label.strip() for label in cell} - {""}) for cell in cells]
        names, numbers = np.unique([label for each in labels for label in each], return_inverse=True)
        starts = np.cumsum([0, *map(len, labels)])
        shape = (len(table), len(names))
        return cls(table, csr_array((np.ones(len(numbers)), numbers, starts), shape=shape), names)

    def describe(self, is_scaled: bool = False) -> Facts:
        """Return what there is; with advice on the scale of features, unless the model takes care of it."""
        each = self.indicator.nnz / len(self.table)
        labels = f"{len(self.names):,}; {each:.1f} per object"
        return [*_describe_table(self.table, is_scaled), ("labels", labels)]

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Hold out a share of the objects that have labels."""
        import numpy as np

        labeled = np.flatnonzero(np.diff(self.indicator.indptr))
        if len(labeled) < FEWEST:
            raise TooFewError(f"{count(len(labeled), 'object')} with labels are too few")
        n_held_out = min(max(1, round(share * len(labeled))), MOST_HELD_OUT)
        held_out = np.zeros(len(self.table), dtype=bool)
        held_out[np.random.default_rng(seed).permutation(labeled)[:n_held_out]] = True
        train, test = (
            replace(self, table=self.table[part], indicator=self.indicator[part]) for part in (~held_out, held_out)
        )
        return train, test

    def fit(self, model: Any) -> None:
        """Fit a model."""
        model.fit(self.table, self.indicator, classes=self.names)

    def evaluate(self, model: Any, test: Self | None) -> Facts:
        """Return how well the labels of held-out objects are ranked, by the model and by simple alternatives."""
        from nearer.ranking import baseline_scores

        if test is None:
            return []
        learned = model.score(test.table, test.indicator)
        plain = baseline_scores(self.table.X, self.indicator, test.table.X, test.indicator, classes=self.names)
        return [
            ("held out", f"mean average precision {learned:.3f} of {test.size} that this fit was not shown"),
            ("baselines", ", ".join(f"{score:.3f} {BY[name]}" for name, score in plain.items())),
        ]


def _transform(before: Any, table: "FeatureTable") -> Any:
    return table if before is None else before.transform(table)


def _describe_table(table: "FeatureTable", is_scaled: bool) -> Facts:
    import numpy as np

    facts = [("objects", f"{len(table):,}")]
    if len(table.shape) < 2:
        return facts  # texts
    facts.append(("features", f"{table.shape[1]:,}"))
    if isinstance(table.X, np.ndarray) and not is_scaled:
        ranges = np.ptp(table.X, axis=0)
        ranges = ranges[ranges > 0]
        if len(ranges) and ranges.max() > UNEVEN * ranges.min():
            ratio = f"columns differ {ranges.max() / ranges.min():,.0f}-fold"
            facts.append(("spread", f"{ratio}: scaled to a common range, such as -1 to 1, learning works better"))
    return facts


def _ranks_labels(model: Any) -> bool:
    return hasattr(model, "top_k")


def read_data(
    files: list[Path], options: Mapping[str, Any], model: Any, read: "Callable[[Path], Comparisons]"
) -> Answers | Labeled:
    """Read what a model is to learn from: files of answers, or a table with labels or with answers about it."""
    from nearer import Comparisons
    from nearer.formats import read_features, read_texts
    from nearer.formats.features import check_sparse, match_rows

    if not {"labels", "comparisons"} & set(options):
        parts = [read(path) for path in files]
        answers = parts[0] if len(parts) == 1 else Comparisons.concat(parts)
        answers._fill(n_dropped=sum(part.n_dropped for part in parts))
        return Answers.of(answers)
    if len(files) > 1:
        raise ValueError(f"one table of features is wanted; got {count(len(files), 'file')}: {some(files)}")
    beside = {name: options.get(name) for name in ("labels", "names")}
    if "text" in options:
        table = read_texts(files[0], options["text"], **beside)
    else:
        table = read_features(
            files[0], **beside, ignored=options.get("ignore", ()), unlabeled=_ranks_labels(model)
        )
        check_sparse(model, table)
    if "labels" in options:
        return Tagged.of(table) if _ranks_labels(model) else Labeled(table)
    source = options["comparisons"]
    answers, rows = match_rows(read(source), table, source)
    matched = rows[answers.rows]
    if matched.min(initial=0) < 0:
        missing = sorted(set(answers.rows[matched < 0].tolist()))
        unknown = missing if answers.names is None else [answers.names[number] for number in missing]
        raise ValueError(f"{source} is about objects that {table.path} does not have: {some(unknown)}")
    columns: dict[str, Any] = {name: getattr(answers, name) for name in ("weights", "subjects", "answers")}
    by_row = Comparisons(matched, n_objects=len(table), **columns)
    by_row._fill(n_dropped=answers.n_dropped)
    return Answers(by_row, table)
