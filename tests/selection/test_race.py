"""The race between candidates, with made-up losses instead of learning: what is dropped, and what is taken."""

import time

import numpy as np
import pytest

from nearer.monitor import Monitor
from nearer.selection import Trial, best, race

N_UNITS = 1000


class Game:
    """Candidates whose loss on a unit is a number of their own plus noise, and the fits that a race asks for."""

    def __init__(self, loss, noise=0.0, n_units=N_UNITS):
        self.loss, self.noise, self.n_units = loss, noise, n_units
        self.fits = []  # fold, name, rung, rung of the start or None

    def fit(self, fold, settings, start, monitor):
        self.fits.append((fold, settings["name"], settings["rung"], None if start is None else start[1]))
        return settings["name"], settings["rung"]

    def judge(self, fold, solution):
        name, rung = solution
        random = np.random.default_rng([fold, ord(name), rung])
        losses = self.loss(name, rung) + self.noise * random.standard_normal(self.n_units)
        return losses, np.where(losses > 0.5, 1.0, 0.0)

    def run(self, names="a", n_rungs=1, n_folds=5, monitor=None, n_jobs=1):
        ladders = [[{"name": name, "rung": rung} for rung in range(n_rungs)] for name in names]
        monitor = Monitor(1) if monitor is None else monitor
        return race(
            ladders, range(n_folds), self.fit, self.judge, monitor, what="name", n_folds=n_folds, n_jobs=n_jobs
        )

    def folds_of(self, name, rung=0):
        return [fold for fold, *candidate in self.fits if candidate[:2] == [name, rung]]


def rungs(selection, name="a"):
    return [trial.settings["rung"] for trial in selection.trials if trial.settings["name"] == name]


def test_a_candidate_that_is_clearly_worse_is_not_tried_again():
    game = Game(lambda name, rung: 0.6 if name == "c" else 0.3, noise=0.2)
    selection = game.run("abc")
    assert game.folds_of("c") == [0]
    assert game.folds_of("a") == game.folds_of("b") == [0, 1, 2, 3, 4]
    assert [len(trial.losses) for trial in selection.trials] == [5 * N_UNITS, 5 * N_UNITS, N_UNITS]
    assert [trial.solutions for trial in selection.trials] == [[("a", 0)] * 5, [("b", 0)] * 5, [("c", 0)]]


def test_candidates_that_cannot_be_told_apart_are_tried_in_every_fold():
    game = Game(lambda name, rung: 0.3, noise=0.2)
    game.run("abcd")
    for name in "abcd":
        assert game.folds_of(name) == [0, 1, 2, 3, 4]


def test_nothing_is_dropped_by_a_few_units():
    game = Game(lambda name, rung: {"a": 0.3, "b": 0.9}[name], noise=0.01, n_units=30)
    selection = game.run("ab", n_folds=3)
    assert game.folds_of("b") == [0, 1, 2]
    assert selection.chosen.settings["name"] == "a"


def test_the_race_ends_when_more_folds_would_not_matter():
    game = Game(lambda name, rung: {"a": 0.3, "b": 0.3001, "c": 0.9}[name])
    selection = game.run("abc")
    assert {fold for fold, *_ in game.fits} == {0}
    assert selection.chosen.settings["name"] == "a"


def test_a_ladder_is_walked_from_the_middle_until_it_gets_worse():
    game = Game(lambda name, rung: 0.3 + 0.05 * abs(rung - 8), noise=0.02)
    selection = game.run(n_rungs=13)
    first = [rung for fold, _, rung, _ in game.fits if fold == 0]
    assert first[0] == 6
    assert set(first) == {4, 6, 7, 8, 9, 10}  # every other one as far as it pays, and the neighbors of the best
    assert selection.chosen.settings["rung"] == 8
    assert rungs(selection) == sorted(first)


def test_of_a_ladder_far_behind_the_middle_and_a_larger_value_are_tried():
    game = Game(lambda name, rung: 0.3 + 0.5 * (name == "b") + 0.001 * abs(rung - 3), noise=0.1)
    selection = game.run("ab", n_rungs=7)
    assert rungs(selection, "b") == [3, 5]
    assert len(rungs(selection, "a")) > 3


def test_a_ladder_that_is_good_only_at_larger_values_is_found():
    game = Game(lambda name, rung: 0.5 - 0.1 * max(0, rung - 3) if name == "b" else 0.3, noise=0.05)
    selection = game.run("ab", n_rungs=9)
    assert selection.chosen.settings["name"] == "b"
    assert selection.chosen.settings["rung"] > 4


def test_fits_start_from_the_nearest_value_solved_in_the_same_fold():
    game = Game(lambda name, rung: 0.3 + 0.001 * abs(rung - 5), noise=0.1)
    game.run("ab", n_rungs=11, n_folds=3)
    solved = {}
    for fold, name, rung, start in game.fits:
        others = solved.setdefault((fold, name), [])
        if not others:
            assert start is None
        else:
            assert start in others
            assert abs(start - rung) == min(abs(other - rung) for other in others)
        others.append(rung)
    assert max(len(others) for others in solved.values()) == 11


def test_the_smoothed_best_is_taken():
    """Rung 2 is the best by luck: its neighbors are bad. Those of rung 6 are as good as itself."""
    losses = [0.320, 0.320, 0.298, 0.320, 0.310, 0.301, 0.300, 0.301, 0.320]
    random = np.random.default_rng(0)
    game = Game(lambda name, rung: losses[rung], n_units=500)
    noise = random.standard_normal((len(losses), 500))
    noise -= noise.mean(axis=1, keepdims=True)
    game.judge = lambda fold, solution: (losses[solution[1]] + noise[solution[1]],) * 2
    selection = game.run(n_rungs=len(losses), n_folds=1)
    assert rungs(selection) == list(range(len(losses)))
    assert min(selection.trials, key=lambda trial: trial.losses.mean()).settings["rung"] == 2
    assert selection.chosen.settings["rung"] == 6


@pytest.mark.parametrize("noise", [0.0, 0.02, 2.0])
@pytest.mark.parametrize(("end", "neighbor"), [(0, 1), (8, 7)])
def test_the_end_of_a_ladder_is_never_taken(end, neighbor, noise):
    game = Game(lambda name, rung: 0.3 + 0.05 * abs(rung - end), noise=noise)
    chosen = game.run(n_rungs=9).chosen.settings["rung"]
    assert chosen == neighbor if noise < 1.0 else chosen not in (0, 8)


@pytest.mark.parametrize("n_rungs", [1, 2])
def test_a_ladder_too_short_to_have_a_middle_may_end_anywhere(n_rungs):
    game = Game(lambda name, rung: 0.3 + 0.1 * rung, noise=0.01)
    assert game.run(n_rungs=n_rungs).chosen.settings["rung"] == 0


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_the_number_of_threads_does_not_matter(n_jobs):
    def loss(name, rung):
        time.sleep(0.002 * ((ord(name) + rung) % 3))  # threads overtake each other
        return 0.3 + 0.01 * (ord(name) - 97) + 0.01 * abs(rung - 4)

    one, many = (Game(loss, noise=0.2).run("abc", 9, 3, n_jobs=number) for number in (1, n_jobs))
    assert one.records() == many.records()
    assert one.chosen.settings == many.chosen.settings


def test_the_best_is_the_best_on_what_all_were_judged_by():
    """A candidate that was tried in an easy fold only is not better than one that was better in that fold."""
    short, long = Trial({"a": 1}, np.full(10, 0.2), []), Trial({"a": 2}, np.repeat([0.1, 0.5], 10), [])
    assert best([short, long]) is long


def stopping_after(n_reports):
    """Return a monitor whose callback ends the fit at this report."""
    seen = []
    return Monitor(1, callback=lambda record: seen.append(record) or len(seen) == n_reports)


def test_a_stop_in_the_first_fold_gives_the_best_of_what_was_tried():
    game = Game(lambda name, rung: {"a": 0.3, "b": 0.2, "c": 0.4}[name], noise=0.01)
    selection = game.run("abc", n_rungs=9, monitor=stopping_after(1))
    assert [(name, rung) for _, name, rung, _ in game.fits] == [("a", 4), ("b", 4), ("c", 4)]
    assert selection.chosen.settings == {"name": "b", "rung": 4}
    assert [record["n_folds"] for record in selection.records()] == [1, 1, 1]


def test_a_stop_in_a_later_fold_compares_complete_folds_only():
    loss = {"a": 0.30, "b": 0.31, "c": 0.32}
    two_folds = Game(lambda name, rung: loss[name], noise=0.5).run("abc", n_folds=2)
    cut = Game(lambda name, rung: loss[name], noise=0.5)
    selection = cut.run("abc", n_folds=5, monitor=stopping_after(8))
    assert cut.fits[-1][0] == 2  # the third fold had begun
    assert [record["n_folds"] for record in selection.records()] == [2, 2, 2]
    assert selection.records() == two_folds.records()


def test_what_a_callback_sees():
    seen = []
    game = Game(lambda name, rung: 0.3 + 0.1 * (name == "b"), noise=0.2)
    game.run("ab", n_folds=2, monitor=Monitor(1, callback=lambda record: seen.append(record)))
    assert {record["stage"] for record in seen} == {"choosing name"}
    assert [record["iteration"] for record in seen] == [1, 2]
    assert [(record["name"], record["rung"]) for record in seen] == [("a", 0), ("b", 0)]
    errors = game.judge(0, ("b", 0))[1]
    assert seen[1]["error"] == errors.mean()
