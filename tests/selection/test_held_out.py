"""The accuracy on held-out answers: what is held out together, the interval, the ceiling, and what is said."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from nearer import Comparisons, OrdinalEmbedding
from nearer.comparisons.rows import flip_rows, question_codes
from nearer.selection import HeldOut, LearningCurve, held_out, noise_ceiling
from nearer.selection.estimate import summarize
from nearer.selection.intervals import share_and_interval
from nearer.simulate import comparisons_from_points, flip

POINTS = np.random.default_rng(0).normal(size=(12, 2))
FIXED = {"loss": "ste", "regularization": 0.01, "random_state": 0}


class Memory(BaseEstimator):
    """Knows the answers it was shown, and nothing else; keeps a list of all fits."""

    def __init__(self, fits=None, regularization=1.0):
        self.fits, self.regularization = fits, regularization

    def __sklearn_clone__(self):
        return type(self)(self.fits, self.regularization)

    def fit(self, comparisons):
        self.known_ = {tuple(row) for row in comparisons.rows.tolist()}
        if self.fits is not None:
            self.fits.append((self.regularization, comparisons))
        self.regularization_ = 2.0 if self.regularization == "auto" else self.regularization
        return self

    def predict(self, comparisons):
        return np.array([1 if tuple(row) in self.known_ else -1 for row in comparisons.rows.tolist()])


def test_a_repeated_question_is_never_on_both_sides_in_either_order():
    questions = comparisons_from_points(POINTS, 60, random_state=0).rows
    rows = np.concatenate([questions, flip_rows(questions), questions])
    result = held_out(Memory(), Comparisons(rows), random_state=0)
    assert (result.correct == 0.5).all()  # nothing of what was held out is known: a guess
    assert result.accuracy == 0.5
    assert not result.better_than_chance


def odd_ones_out():
    random = np.random.default_rng(0)
    triples = np.array([random.choice(8, 3, replace=False) for _ in range(60)])
    return Comparisons.from_odd_one_out(triples, triples[np.arange(60), random.integers(3, size=60)])


def rankings(n_candidates):
    """Rankings of four of the candidates: the more candidates, the more lists share only some questions."""
    random = np.random.default_rng(0)
    return Comparisons.from_rankings(
        np.arange(60) % 6, [6 + random.choice(n_candidates, 4, replace=False) for _ in range(60)]
    )


@pytest.mark.parametrize("answers", [odd_ones_out(), rankings(4), rankings(9)], ids=["odd", "linked", "entangled"])
def test_answers_of_several_rows_share_no_question_with_the_training_part(answers):
    questions, _ = question_codes(answers.rows, answers.n_objects)
    assert len(np.unique(questions)) < len(questions)  # some were asked more than once
    result = held_out(Memory(), answers, random_state=0)
    assert (result.correct == 0.5).all()


def test_settings_are_chosen_five_times_and_never_on_what_is_held_out():
    fits = []
    answers = comparisons_from_points(POINTS, 100, random_state=0)
    answers = Comparisons(answers, extra={"row": np.arange(100)})
    held_out(Memory(fits, "auto"), answers, random_state=0)
    searches = [set(train.extra["row"]) for ridge, train in fits if ridge == "auto"]
    others = [(ridge, set(train.extra["row"])) for ridge, train in fits if ridge != "auto"]
    assert len(searches) == 5
    assert len(others) == 5 * 2 + 25
    everything = set(range(100))
    assert sum(len(everything - search) for search in searches) == 100
    halves = [(ridge, train) for ridge, train in others if len(train) < 50]
    assert len(halves) == 10
    for ridge, train in halves:
        (search,) = [search for search in searches if train < search]
        assert ridge == pytest.approx(2.0 * len(search) / len(train))
    parts = [(ridge, everything - train) for ridge, train in others if len(train) > 50]
    assert sorted(row for _, part in parts for row in part) == sorted(everything)
    for ridge, part in parts:
        (search,) = [search for search in searches if not search & part]  # the only one that has not seen it
        assert ridge == pytest.approx(2.0 * len(search) / (100 - len(part)))


def test_groups_are_held_out_whole_and_are_the_units():
    answers = comparisons_from_points(POINTS, 120, noise=flip(0.1), random_state=0)
    answers = Comparisons(answers, subjects=np.arange(120) % 8)
    fits = []
    held_out(Memory(fits), answers, groups="subjects", random_state=0)
    assert len([None for _, train in fits if len(set(train.subjects.tolist())) == 7]) >= 8
    result = held_out(OrdinalEmbedding(**FIXED), answers, groups="subjects", random_state=0)
    _, interval = share_and_interval(result.correct, None, answers.subjects, 1 + 8 / 7)
    assert result.interval[0] == interval[0]
    assert result.interval_by_subject is None
    assert "of 120 answers of new people, 95 % interval" in str(result)
    two = Comparisons(answers, subjects=np.arange(120) % 2)
    said = str(held_out(OrdinalEmbedding(**FIXED), two, groups="subjects", random_state=0))
    assert "too few people, or they differ too much, to tell whether it is better" in said


def test_people_give_a_second_interval():
    answers = comparisons_from_points(POINTS, 200, noise=flip(0.1), random_state=0)
    people = np.arange(200) // 20
    rows = np.where(
        (people == 3)[:, None], flip_rows(answers.rows), answers.rows
    )  # says the opposite of the others
    result = held_out(OrdinalEmbedding(**FIXED), Comparisons(rows, subjects=people), random_state=0)
    assert result.n_subjects == 10
    assert np.diff(result.interval_by_subject) > 1.2 * np.diff(result.interval)
    assert "clustered by 10 people" in str(result)


def test_people_who_are_all_predicted_do_not_widen_the_interval():
    answers = Comparisons(comparisons_from_points(POINTS, 60, random_state=0), subjects=np.arange(60) % 3)
    result = summarize(np.ones(60), answers, answers.answers, n_given=60, n_objects=12)
    assert result.interval_by_subject == result.interval
    alone = Comparisons(answers, subjects=np.zeros(60))
    assert summarize(np.ones(60), alone, answers.answers, n_given=60, n_objects=12).interval_by_subject is None


def wilson(right, n, z):
    share = right / n
    roots = np.roots([1 + z * z / n, -(2 * share + z * z / n), share**2])  # |share - p| = z sqrt(p (1 - p) / n)
    return sorted(roots.real)


def test_the_interval_of_independent_values_is_wilsons_and_clusters_count_once():
    correct = np.repeat([1.0, 0.0], [70, 30])
    share, interval = share_and_interval(correct, None, np.arange(100))
    assert share == pytest.approx(0.7)
    assert interval == pytest.approx(
        wilson(0.7 * 99, 99, 1.984217), abs=1e-6
    )  # Student's t, 99 degrees of freedom
    again = share_and_interval(np.repeat(correct, 3), np.full(300, 7.0), np.repeat(np.arange(100), 3))
    assert again[1] == pytest.approx(interval)
    _, wider = share_and_interval(correct, None, np.arange(100), 2.0)
    assert wider == pytest.approx(wilson(0.7 * 49.5, 49.5, 1.984217), abs=1e-6)


def test_all_right_has_an_interval_too():
    low, high = share_and_interval(np.ones(50), None, np.arange(50))[1]
    assert high == pytest.approx(1.0)
    assert 0.9 < low < 0.95
    assert share_and_interval(np.ones(50), None, np.zeros(50))[1] == (0.0, 1.0)  # one person says nothing


def literal_ceiling(rows):
    """Agreement over all pairs of answers to the same question, by loops."""
    by_question = {}
    for a, b, c in rows.tolist():
        by_question.setdefault((a, min(b, c), max(b, c)), []).append(b < c)
    shares, weights = [], []
    for given in by_question.values():
        pairs = [x == y for i, x in enumerate(given) for y in given[:i]]
        if pairs:
            shares.append(np.mean(pairs))
            weights.append(len(given))
    agreement = np.average(shares, weights=weights)
    return 0.5 + 0.5 * np.sqrt(2 * agreement - 1), agreement, len(shares)


def test_the_ceiling_is_that_of_pairs_of_repeats_also_swapped_ones():
    answers = comparisons_from_points(POINTS[:6], 150, noise=flip(0.2), random_state=0)
    ceiling = noise_ceiling(answers)
    assert (ceiling.accuracy, ceiling.agreement, ceiling.n_questions) == pytest.approx(
        literal_ceiling(answers.rows)
    )
    assert ceiling.interval[0] < ceiling.accuracy < ceiling.interval[1]
    a, b, c = answers.rows.T
    pairs = np.column_stack([a, b, c, a])  # the same questions with the pairs written in another order
    assert noise_ceiling(Comparisons(pairs)).accuracy == pytest.approx(ceiling.accuracy)
    assert noise_ceiling(answers[:15]) is None
    coin = noise_ceiling(comparisons_from_points(POINTS[:6], 3000, noise=flip(0.5), random_state=0))
    assert coin.accuracy < 0.6


def test_noise_is_no_better_than_guessing_and_signal_is():
    noise = comparisons_from_points(POINTS, 150, noise=flip(0.5), random_state=0)
    result = held_out(OrdinalEmbedding(**FIXED), noise, random_state=0)
    assert not result.better_than_chance
    assert "chance          50 %: the model is no better than guessing\n" in str(result)
    assert "these answers about 12 objects show no pattern" in str(result)
    assert result.answers_needed(0.9) is None
    fresh = comparisons_from_points(POINTS, 5000, noise=flip(0.1), random_state=1)
    answers = comparisons_from_points(POINTS, 150, noise=flip(0.1), random_state=0)
    model = OrdinalEmbedding(**FIXED)
    result = held_out(model, answers, random_state=0)
    assert not hasattr(model, "embedding_")
    assert result.better_than_chance
    assert "guessing" not in str(result)
    assert result.interval[0] < model.fit(answers).score(fresh) < result.interval[1]
    again = held_out(OrdinalEmbedding(**FIXED), answers.rows, random_state=0)
    assert (again.correct == result.correct).all()


def test_too_few_answers_about_many_objects_are_called_too_few():
    points = np.random.default_rng(0).normal(size=(500, 2))
    answers = comparisons_from_points(points, 200, random_state=0)
    said = str(held_out(OrdinalEmbedding(**FIXED), answers, random_state=0))
    assert "no better than guessing" in said
    n_asked = len(np.unique(answers.rows))
    assert f"200 answers about {n_asked} objects are too few: a map of two dimensions needs some " in said


def estimate(accuracy, few, standard_error=0.01, ceiling=None):
    return HeldOut(
        accuracy=accuracy, interval=(accuracy - 0.05, accuracy + 0.05), interval_by_subject=None, correct=np.zeros(0),
        n_answers=1000, n_given=1000, n_objects=30, ceiling=ceiling,
        learning_curve=LearningCurve((250, 1000), (few, accuracy), standard_error),
    )  # fmt: skip


def test_more_answers_follow_the_power_law():
    result = estimate(0.7, 0.4)  # four times the answers halve the errors
    assert result.answers_needed(0.79) == 1000  # (0.3 / 0.21)² times the answers, less those there are: 1041
    assert result.goal == 0.75
    assert "more answers    about 440 more for an accuracy of 75 %" in str(result)
    assert result.answers_needed(0.86) is None  # more than four times the answers
    assert result.answers_needed(0.6) is None
    assert estimate(0.7, 0.69).answers_needed(0.75) is None  # does not clearly rise
    assert estimate(0.54, 0.5).answers_needed(0.6) is None  # the interval includes chance
    ceiling = noise_ceiling(comparisons_from_points(POINTS[:6], 3000, noise=flip(0.2), random_state=0))
    bounded = estimate(0.7, 0.4, ceiling=ceiling)
    assert bounded.answers_needed(0.75) > 440
    assert bounded.answers_needed(0.85) is None
    assert f"ceiling         {100 * ceiling.accuracy:.1f} % (" in str(bounded)


def test_what_cannot_be_held_out_is_refused():
    with pytest.raises(ValueError, match=r"10 answers, in 2 questions, are the least .* got 9, in 9"):
        held_out(Memory(), comparisons_from_points(POINTS, 9, random_state=0))
    with pytest.raises(ValueError, match="got 50, in 1"):
        held_out(Memory(), [[0, 1, 2]] * 50)
    with pytest.raises(ValueError, match="n_folds must be a whole number of at least 2; got 1"):
        held_out(Memory(), comparisons_from_points(POINTS, 50, random_state=0), n_folds=1)
    everyone = Comparisons.from_rankings(
        [0] * 20, [np.random.default_rng(i).permutation(4) + 1 for i in range(20)]
    )
    with pytest.raises(ValueError, match="all answers are to the same questions"):
        held_out(Memory(), everyone)


def test_ctrl_c_ends_it():
    class Interrupted(Memory):
        stop_reason_ = "interrupted"

    with pytest.raises(KeyboardInterrupt):
        held_out(Interrupted(), comparisons_from_points(POINTS, 50, random_state=0))
