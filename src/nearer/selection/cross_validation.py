"""How well a model that is fitted to all answers predicts new ones: cross-validation that does not flatter.

- Settings are chosen five times, each time without a fifth of the answers. A model with these settings is then fitted to
  all answers but a fifth of that fifth: 25 fits, nearly as large as the one to all answers, and hardly any time.
- All answers to a question are held out together, also those with the choices swapped.
- The fits share most of what they learn from, so errors on different folds are not independent. Their variance is
  multiplied by 1 + K/(K - 1) for K folds, the correction of Nadeau and Bengio (2003), "Inference for the
  generalization error": 1/K + (size of a test set)/(size of a training set) in place of 1/K.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import as_comparisons, drop_zero_weights, mentioned_objects
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import question_codes
from nearer.parameters import is_auto
from nearer.progress import Progress
from nearer.selection.chosen import settings_in_place_of_auto
from nearer.selection.estimate import HeldOut, LearningCurve, summarize
from nearer.selection.folds import other_answers, question_groups, thin
from nearer.selection.intervals import are_correct, noise_ceiling, standard_error

N_SEARCHES = 5  # settings are chosen so often
N_FOLDS = 25
N_HALVES = 2  # fits to half of the answers per search, for the learning curve
FEWEST = 10  # answers; fewer say nothing


def held_out(
    estimator: Any,
    comparisons: Any,
    *,
    groups: Any = None,
    n_folds: int = N_FOLDS,
    random_state: RandomState = None,
    verbose: bool = False,
) -> HeldOut:
    """Estimate how well a model fitted to all answers predicts new ones, by cross-validation.

    Parameters
    ----------
    estimator : estimator
        With ``fit(comparisons)`` and ``predict(comparisons)``. It is cloned, not fitted.
    comparisons : Comparisons, array of shape (n, 3) or (n, 4), or DataFrame
        All answers, as for ``fit``.
    groups : "subjects" or array of shape (n,), optional
        Hold out whole groups, which are then also the units of the interval. "subjects": the accuracy is about people
        who have not been asked yet.
    n_folds : int, default=25
        Number of parts that are held out in turn. Parameters that are "auto" are chosen for five parts at once.
    random_state : int, Generator, RandomState or None
        Draws the folds.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    HeldOut
        Accuracy, 95 % interval, what repeated questions allow at best, and how many more answers would help.

    Notes
    -----
    Settings are chosen without the answers that they are judged by. All answers to a question, in either order of its
    choices, are held out together, unless there are `groups`. (If rankings share so many questions that they cannot be
    kept together, what a training part says about held-out questions is left out of it.)

    The interval is Wilson's. Answers to the same question, rows of the same answer or members of a group are
    clusters; with `subjects` there is a second interval whose clusters are people. The variance is multiplied by
    1 + K/(K - 1) for K folds, because the folds share what they learn from (Nadeau and Bengio, 2003). The upper end is
    raised by what the learning curve gains from the training parts to all answers. The user guide says how often the
    interval contains the truth in simulations.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import OrdinalEmbedding
    >>> from nearer.selection import held_out
    >>> from nearer.simulate import comparisons_from_points, flip
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> answers = comparisons_from_points(points, 400, noise=flip(0.1), random_state=0)
    >>> result = held_out(OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0), answers, random_state=0)
    >>> low, high = result.interval
    >>> result.better_than_chance, low < result.accuracy < high
    (True, True)
    >>> print(result)
    held out        ... % of 400 answers, 95 % interval ... to ... %
    chance          50 %...
    """
    if not isinstance(n_folds, int | np.integer) or n_folds < 2:
        raise ValueError(f"n_folds must be a whole number of at least 2; got {n_folds!r}")
    given = drop_zero_weights(as_comparisons(comparisons))
    questions, answers = None, given
    if groups is None:
        questions, _ = question_codes(given.rows, given.n_objects)
        units = question_groups(given, questions)
    else:
        answers = given.group(groups)
        units = answers.answers
    n_units = int(units.max(initial=-1)) + 1
    if given.n_answers < FEWEST or n_units < 2:
        what = "questions" if groups is None else "groups"
        raise ValueError(
            f"{FEWEST} answers, in 2 {what}, are the least of which some can be held out; "
            f"got {given.n_answers:,}, in {n_units:,}"
        )
    random, n_folds = as_generator(random_state), min(n_folds, n_units)
    fold = (random.permutation(n_units) % n_folds)[units]
    with_most, with_few, sizes = _cross_validate(estimator, answers, fold, questions, random, Progress(verbose))
    factor = 1.0 + n_folds / (n_folds - 1)
    curve = _learning_curve(with_few, with_most, sizes, given, units, factor)
    return summarize(
        with_most,
        given,
        units,
        groups=groups,
        factor=factor,
        n_given=given.n_answers,
        n_objects=int(mentioned_objects(given).sum()),
        ceiling=noise_ceiling(given),
        learning_curve=curve,
    )


def _learning_curve(
    with_few: NDArray[np.float64],
    with_most: NDArray[np.float64],
    n_rows: tuple[float, float],
    answers: Comparisons,
    units: NDArray[Any],
    factor: float,
) -> LearningCurve:
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights / answers.weights.max()
    low, high = (float(np.average(correct, weights=weights)) for correct in (with_few, with_most))
    error = standard_error(with_most - with_few - (high - low), weights, units)
    few, most = (round(n * answers.n_answers / len(answers)) for n in n_rows)
    return LearningCurve((few, most), (low, high), float(error * np.sqrt(factor)))


def _cross_validate(
    estimator: Any,
    answers: Comparisons,
    fold: NDArray[np.intp],
    questions: NDArray[np.int64] | None,
    random: np.random.Generator,
    progress: Progress,
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[float, float]]:
    """Return which rows fits to most other rows predict, which fits to fewer do, and the mean numbers of rows."""
    with_most, with_few = np.zeros(len(answers)), np.zeros(len(answers))
    most, few = [], []
    n_folds, chooses = int(fold.max()) + 1, any(map(is_auto, estimator.get_params().values()))
    for number in range(min(N_SEARCHES, n_folds)):
        search = fold % N_SEARCHES == number
        train, test = other_answers(answers, search, questions), answers._take_rows(np.flatnonzero(search))
        fitted = _fit(estimator, train) if chooses else estimator
        for _ in range(N_HALVES):
            part = _half(train, random)
            half = _fit(_with_settings(estimator, fitted, len(train) / len(part)), part)
            with_few[search] += are_correct(half.predict, test) / N_HALVES
            few.append(len(part))
        for one in range(number, n_folds, N_SEARCHES):
            held_out = fold == one
            train_one = other_answers(answers, held_out, questions)
            model = _fit(_with_settings(estimator, fitted, len(train) / len(train_one)), train_one)
            with_most[held_out] = are_correct(model.predict, answers._take_rows(np.flatnonzero(held_out)))
            most.append(len(train_one))
        progress.show((number + 1) / min(N_SEARCHES, n_folds), "cross-validation", "")
    progress.close(complete=True)
    return with_most, with_few, (float(np.mean(few)), float(np.mean(most)))


def _half(train: Comparisons, random: np.random.Generator) -> Comparisons:
    """Return half of the answers; of few groups half of their rows."""
    if train.n_answers < FEWEST:
        return thin(train, max(len(train) // 2, 1), random)
    return train.split(0.5, random)[0]


def _fit(estimator: Any, train: Comparisons) -> Any:
    """Return a fitted clone; Ctrl-C ends the whole cross-validation."""
    fitted = clone(estimator).fit(train)
    if getattr(fitted, "stop_reason_", "") == "interrupted":
        raise KeyboardInterrupt
    return fitted


def _with_settings(estimator: Any, fitted: Any, share: float) -> Any:
    return clone(estimator).set_params(**settings_in_place_of_auto(estimator, fitted, share))
