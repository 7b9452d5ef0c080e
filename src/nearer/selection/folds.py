"""Parts of the data to learn from and to judge by: whole answers, or objects of every class.

`select_ridge` searches over folds of answers for the ridge of maps and kernels, ``regularization="auto"``. What is
learned, points or a kernel, is up to the learner.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import question_codes
from nearer.monitor import Monitor
from nearer.selection.search import Selection, Trial, search, smallest_good

N_FOLDS = 5
N_CLASS_FOLDS = 3  # of classes, of which there may be few
FEW_CLASSES = 6  # below which a third of the classes are too few to judge by
FOLD_SHARE = 1 - 1 / N_FOLDS  # of the answers, to learn from in a fold
FEW_ROWS = 50_000  # enough to learn from; of more rows some of the others are held out, once
MAX_HELD_OUT_ROWS = 10_000
ROWS_OF_A_GROUP = 100  # rows per answer on average from which answers are groups, such as all answers of a person
FEW_OBJECTS = 2_000  # the same for objects with labels; of more one fifth is held out
MAX_HELD_OUT = 2_000  # objects: each is a query among the others
MAX_ROWS = 500_000  # a larger set is judged by a sample of its answers
LARGEST_GROUP = 0.5  # of the answers; if more are linked by common questions, they are not kept together
DEFAULT_RIDGE = 0.01  # where nothing can be judged


def answer_folds(
    comparisons: Comparisons, random: np.random.Generator, enough: int = FEW_ROWS, n_folds: int = N_FOLDS
) -> list[tuple[Comparisons, Comparisons]]:
    """Return training and held-out parts with whole answers in each.

    There are no folds of fewer than five answers, unless they are groups of many rows. If there are many more
    than ``enough`` rows to learn from, that many are taken for one fold, and some of the others are held out; groups
    are always held out in turn, and the rows of each part are thinned.
    """
    n_answers = comparisons.n_answers
    grouped = len(comparisons) >= ROWS_OF_A_GROUP * n_answers
    if n_answers < (2 if grouped else N_FOLDS):
        return []
    if FOLD_SHARE * len(comparisons) > enough and not grouped:
        n_train, n_test = (int(n * n_answers / len(comparisons)) for n in (enough, MAX_HELD_OUT_ROWS))
        part = np.zeros(n_answers, dtype=np.int8)
        order = random.permutation(n_answers)
        part[order[:n_train]] = 1
        part[order[n_train : n_train + n_test]] = 2
        part = part[comparisons.answers]
        return [(comparisons[part == 1], comparisons[part == 2])]
    n_folds = min(n_folds, n_answers)
    fold = (random.permutation(n_answers) % n_folds)[comparisons.answers]
    folds = [(comparisons[fold != number], comparisons[fold == number]) for number in range(n_folds)]
    if not grouped:
        return folds
    return [(thin(train, enough, random), thin(test, MAX_HELD_OUT_ROWS, random)) for train, test in folds]


def question_groups(answers: Comparisons, questions: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """Return a number (0, 1, …) per row that answers with a common question share: they are held out together.

    If more than half of the answers are linked in this way, as many rankings are, every answer is a group of its own.

    Parameters
    ----------
    answers : Comparisons
        All answers.
    questions : array of int, one per row
        As :func:`~nearer.comparisons.rows.question_codes` numbers them.
    """
    if answers.n_answers == len(answers):
        return questions
    n = answers.n_answers
    size = n + int(questions.max()) + 1
    ends = answers.answers.astype(np.int32), (n + questions).astype(np.int32)  # what csgraph takes
    links = coo_array((np.ones(len(answers), dtype=np.int8), ends), shape=(size, size))
    _, label = connected_components(links, directed=False)
    groups = label[answers.answers]
    return groups if np.bincount(label[:n]).max() <= LARGEST_GROUP * n else answers.answers


def other_answers(
    answers: Comparisons, held_out: NDArray[np.bool_], questions: NDArray[np.int64] | None
) -> Comparisons:
    """Return the rows to learn from: those that are not held out and do not answer a held-out question.

    Parameters
    ----------
    answers : Comparisons
        All answers.
    held_out : array of bool, one per row
        Which rows are held out.
    questions : array of int, one per row, or None
        As :func:`~nearer.comparisons.rows.question_codes` numbers them; None: questions may be on both sides.
    """
    other = ~held_out
    if questions is not None:
        asked = np.zeros(int(questions.max()) + 1, dtype=bool)
        asked[questions[held_out]] = True
        other &= ~asked[questions]
    train = answers._take_rows(np.flatnonzero(other))
    if len(train) == 0:
        raise ValueError("no question can be held out: all answers are to the same questions")
    return train


def hold_out(
    answers: Comparisons, share: float, random_state: RandomState, questions: NDArray[np.int64] | None = None
) -> tuple[Comparisons, Comparisons]:
    """Return answers to learn from and held-out ones, whole answers with no question in common.

    Parameters
    ----------
    answers : Comparisons
        All answers.
    share : float
        Share of the answers to hold out, or nearly so: all answers to a question are held out together.
    random_state : int, Generator, RandomState or None
        Draws them.
    questions : array of int, one per row, optional
        As :func:`~nearer.comparisons.rows.question_codes` numbers them, where that is known.
    """
    if questions is None:
        questions, _ = question_codes(answers.rows, answers.n_objects)
    group = question_groups(answers, questions)
    n = int(group.max()) + 1
    if n < 2:
        raise ValueError("no question can be held out: all answers are to the same questions")
    chosen = np.zeros(n, dtype=bool)
    chosen[as_generator(random_state).choice(n, min(max(round(share * n), 1), n - 1), replace=False)] = True
    held_out = chosen[group]
    return other_answers(answers, held_out, questions), answers[held_out]


def subsample(comparisons: Comparisons, max_rows: int, random: np.random.Generator) -> Comparisons:
    """Return about ``max_rows`` rows at most, whole answers drawn at random, at least one of them."""
    if len(comparisons) <= max_rows:
        return comparisons
    n_answers = comparisons.n_answers
    n = max(1, int(max_rows * n_answers / len(comparisons)))
    chosen = np.sort(random.choice(n_answers, n, replace=False, shuffle=False))
    if n_answers == len(comparisons):
        return comparisons[chosen]
    return comparisons[np.isin(comparisons.answers, chosen)]


def thin(comparisons: Comparisons, max_rows: int, random: np.random.Generator) -> Comparisons:
    """Return at most ``max_rows`` rows drawn at random, whatever answers they belong to."""
    if len(comparisons) <= max_rows:
        return comparisons
    return comparisons._take_rows(np.sort(random.choice(len(comparisons), max_rows, replace=False, shuffle=False)))


def sample_of(data: Comparisons | ComparisonSource, max_rows: int, random: np.random.Generator) -> Comparisons:
    """Return comparisons in memory: those given, or of a source about ``max_rows`` rows at most, whole answers."""
    if isinstance(data, Comparisons):
        return data
    share = min(1.0, max_rows / len(data))
    parts = [subsample(chunk, max(1, round(share * len(chunk))), random) for chunk in data.chunks()]
    return Comparisons.concat(parts)


def class_folds(
    labels: np.ndarray, random: np.random.Generator, max_held_out: int = MAX_HELD_OUT
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and held-out objects, a fifth of every class: five folds of few objects, one of many.

    Each fold is a mask of the objects to learn from, and the numbers of at most so many held-out ones.
    """
    fold = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        fold[members] = (random.permutation(len(members)) + random.integers(N_FOLDS)) % N_FOLDS
    n_folds = N_FOLDS if len(labels) <= FEW_OBJECTS else 1
    return [
        (fold != number, random.permutation(np.flatnonzero(fold == number))[:max_held_out])
        for number in range(n_folds)
    ]


def unseen_class_folds(
    labels: np.ndarray, random: np.random.Generator, max_held_out: int = MAX_HELD_OUT
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds as :func:`class_folds` does, but with all objects of some classes held out; none of two classes.

    A third of the classes is held out, or one of fewer than six, and a fifth of the objects of each other class, which
    are there to be told from them. Of many objects in six classes or more there is one fold.
    """
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 3:
        return []
    n_groups = N_CLASS_FOLDS if len(classes) >= FEW_CLASSES else len(classes)
    group = (random.permutation(len(classes)) % n_groups)[numbers]
    known = class_folds(labels, random)[0][0]
    n_folds = 1 if len(labels) > FEW_OBJECTS and len(classes) >= FEW_CLASSES else n_groups
    return [
        (
            known & (group != number),
            random.permutation(np.flatnonzero(~known | (group == number)))[:max_held_out],
        )
        for number in range(n_folds)
    ]


def select_ridge(
    comparisons: Comparisons,
    ridges: Sequence[float],
    fit: Callable[[Comparisons, float, Any, Monitor], Any],
    distances: Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: Any,
    random: np.random.Generator,
    monitor: Monitor,
    give_up: Callable[[list[Trial]], bool] | None = None,
) -> tuple[float, Any, Selection]:
    """Return the selected ridge, a solution to start from, and what was tried.

    Few answers give noisy estimates, so the smallest ridge whose held-out errors can hardly be told from the fewest
    is taken.

    Parameters
    ----------
    comparisons : Comparisons
        The answers.
    ridges : sequence of float
        In the order of trying.
    fit : callable
        ``fit(train, ridge, start, monitor)`` returns what is learned from a part of the answers.
    distances : callable
        ``distances(solution, rows)`` returns squared distances of the near and far pairs.
    start : object
        Where the first ridge starts in every fold.
    random : numpy.random.Generator
        Draws the folds.
    monitor : Monitor
        Of the whole fit.
    give_up : callable, optional
        As for :func:`~nearer.selection.search`.
    """
    part = subsample(comparisons, MAX_ROWS, random)
    folds = answer_folds(part, random)
    scale = 1.0 if part.weights is None else float(part.weights.max())
    mean = 1.0 if part.weights is None else float(np.mean(part.weights / scale))

    def judge(fold: tuple[Comparisons, Comparisons], solution: Any) -> np.ndarray:
        held_out = fold[1]
        near, far = distances(solution, held_out.rows)
        return ~(near < far) * (1.0 if held_out.weights is None else held_out.weights / scale / mean)

    def fit_fold(fold: tuple[Comparisons, Comparisons], ridge: float, start: Any, monitor: Monitor) -> Any:
        return fit(fold[0], ridge, start, monitor)

    if not folds:
        return DEFAULT_RIDGE, start, Selection([], None)
    selection = search(
        "regularization", ridges, folds, fit_fold, judge, monitor, start=start, rule=smallest_good, give_up=give_up
    )
    assert selection.chosen is not None  # there are folds
    # The ridge acts like a fixed number of extra answers, so its share falls as answers grow.
    return selection.chosen.value * (len(part) / len(comparisons)), selection.chosen.solutions[0], selection
