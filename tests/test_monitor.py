"""One monitor for every fit: history, early stopping, convergence, the clock, and Ctrl-C wherever a fit is."""

import re
import signal
import threading

import numpy as np
import pytest

from nearer import OrdinalEmbedding
from nearer.monitor import Monitor
from nearer.progress import convergence
from nearer.simulate import comparisons_from_points
from nearer.solver import Solver

ANSWERS = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 2)), 600, random_state=0)


def run(monitor, losses):
    with monitor:
        for loss in losses:
            if not monitor.go_on(loss, loss=loss):
                break
    return monitor.result(loss)


def test_three_calm_iterations_are_convergence_and_two_are_not():
    result = run(Monitor(100, tol=0.1), [5.0, 4.0, 3.95, 3.9, 3.0, 2.95, 2.9, 2.85, 1.0])
    assert (result.n_iter, result.reason, result.converged) == (7, "converged", True)
    assert run(Monitor(2, tol=0.1), [5.0, 4.0, 3.0, 2.0]).reason == "max_iter"


def test_a_gap_within_the_tolerance_is_convergence_at_once():
    monitor = Monitor(100, tol=0.1)
    assert monitor.go_on("state", loss=1.0, gap=0.2)
    assert not monitor.go_on("state", loss=1.0, gap=0.1)
    assert monitor.result("state").converged


def test_a_loss_that_is_not_finite_is_no_convergence():
    result = run(Monitor(100, tol=np.inf), [1.0, np.nan, 0.5])
    assert (result.reason, result.converged, result.n_iter) == ("not finite", False, 1)


def test_the_way_out_of_a_saddle_is_no_convergence():
    leaving = [1.0 - 1e-9 * 4.0**k for k in range(15)]
    settled = [leaving[-1]] * 5
    assert run(Monitor(100, tol=1e-3, saddle=1.0), [*leaving, *settled]).n_iter > 15
    assert run(Monitor(100, tol=1e-3), [*leaving, *settled]).n_iter == 3, "away from a saddle it has settled"
    assert run(Monitor(100, tol=1e-3, saddle=1.0), [1.0, 1.0, 1.0, 1.0, 0.5]).n_iter == 3, "a flat one is"


def test_early_stopping_keeps_the_best_and_ends_five_iterations_later():
    scores = iter([0.5, 0.4, 0.3, 0.35, 0.4, 0.3, 0.5, 0.6, 0.7])
    monitor = Monitor(100, judge=lambda state: ((score := next(scores),), {"held_out": score}))
    result = run(monitor, np.arange(9.0))
    assert result.solution == 2.0
    assert (result.n_iter, result.converged) == (7, True)
    assert [record["held_out"] for record in result.history][:3] == [0.5, 0.4, 0.3]


def test_the_clock_ends_a_fit_and_its_parts():
    monitor = Monitor(100, max_seconds=1e-9)
    assert not monitor.child(10).go_on("state", loss=1.0)
    assert not monitor.go_on("state", loss=1.0)
    assert monitor.result("state").reason == "time"


def test_a_part_that_ended_does_not_end_the_whole():
    monitor = Monitor(10, tol=0.1)
    part = monitor.child(1)
    assert part.go_on("state", loss=1.0)
    assert not part.go_on("state", loss=1.0)
    assert not monitor.stopped
    again = monitor.restart()
    assert again.go_on("state", loss=1.0)
    assert not monitor.history


def press_ctrl_c(stage, iteration):
    """Return a callback that sends SIGINT once, at that point of a fit."""
    sent = []

    def callback(record):
        if record["stage"] == stage and record["iteration"] == iteration and not sent:
            sent.append(True)
            signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize(("stage", "iteration"), [("choosing loss and ridge in 2 dimensions", 3), ("fit", 2)])
def test_ctrl_c_ends_a_fit_with_the_best_so_far(stage, iteration):
    model = OrdinalEmbedding(random_state=0, callback=press_ctrl_c(stage, iteration)).fit(ANSWERS)
    assert model.stop_reason_ == "interrupted"
    assert not model.converged_
    assert model.n_iter_ == (2 if stage == "fit" else 0)
    assert model.score(ANSWERS) > 0.8
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_raises_and_leaves_the_handler_as_it_was():
    def impatient(record):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        OrdinalEmbedding(random_state=0, callback=impatient).fit(ANSWERS)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_fit_in_a_thread_leaves_signals_alone():
    models = []
    thread = threading.Thread(target=lambda: models.append(OrdinalEmbedding(random_state=0).fit(ANSWERS)))
    thread.start()
    thread.join()
    assert models[0].converged_


def test_max_seconds_keeps_the_map_so_far():
    model = OrdinalEmbedding(random_state=0, max_seconds=1e-9).fit(ANSWERS)
    assert (model.stop_reason_, model.converged_) == ("time", False)
    assert model.embedding_.shape == (20, 2)


def test_a_solver_says_what_it_needs_of_a_problem():
    class Needy(Solver):
        needs = ("value_and_gradient", "magic")

    class Problem:
        def value_and_gradient(self, points):
            return 0.0, points

    with pytest.raises(TypeError, match=r"Needy needs a problem with .* Problem has no magic"):
        Needy().solve(Problem(), None, Monitor(1))


def test_the_bar_counts_search_and_fit(capsys):
    OrdinalEmbedding(random_state=0, verbose=True).fit(ANSWERS)
    shown = capsys.readouterr().err
    fractions = [int(found) for found in re.findall(r"(\d+)%", shown)]
    assert fractions[0] == 0
    assert fractions[-1] == 100
    assert fractions == sorted(fractions)
    assert shown.startswith("\rfit: ")
    assert "choosing loss and ridge in 2 dimensions" in shown
    assert shown.count("\n") == 1


def test_a_part_may_take_a_share_of_the_time_only(clock):
    monitor = Monitor(10, max_seconds=0.05)
    with monitor.limited(0.1):
        assert not monitor.stopped
        clock.now += 0.01
        assert monitor.stopped
    assert not monitor.stopped
    assert monitor.reason is None
    clock.now += 0.05
    assert monitor.stopped
    assert monitor.reason == "time"


def test_a_stop_for_another_reason_outlasts_the_part():
    monitor = Monitor(10, max_seconds=100.0)
    with monitor.limited(0.5), monitor.stage("choosing") as report:
        monitor.callback = lambda record: record["error"] > 0.2
        report(0.5, error=0.1)
        assert not monitor.stopped
        report(0.6, error=0.3, ridge=0.01)
        assert monitor.stopped
    assert monitor.reason == "callback"


def test_the_bar_of_stages_never_goes_back():
    places = []
    with Monitor(4, verbose=True) as monitor:
        with monitor.stage("choosing", until=0.5) as report:
            for fraction in (0.2, 0.8, 0.6, 1.0):
                report(fraction, error=0.1)
                places.append(monitor._progress._bar.n)
        for iteration in range(4):
            monitor.go_on(0.0, loss=1.0, iteration=iteration)
            places.append(monitor._progress._bar.n)
    assert places == pytest.approx([0.1, 0.4, 0.4, 0.5, 0.5, 0.625, 0.75, 0.875])


@pytest.mark.parametrize(
    ("first", "now", "tol", "share"),
    [
        (1.0, 1.0, 1e-4, 0.0),
        (1.0, 1e-2, 1e-4, 0.5),
        (1.0, 1e-5, 1e-4, 1.0),
        (1.0, 2.0, 1e-4, 0.0),
        (0.0, 0.0, 1.0, 0.0),
    ],
)
def test_convergence_is_counted_in_orders_of_magnitude(first, now, tol, share):
    assert convergence(first, now, tol) == pytest.approx(share)
