"""Learning while answers arrive: partial_fit of a map against a fit to all answers so far, and its time per answer.

Answers come in random order, one by one, in 20s and in 200s; three orders, and for people's answers three splits.
Accuracy is that on held-out answers (of Europe: on true ones, while 5 % of those learned are wrong). CPU time is
given beside wall-clock time, since it does not depend on what else the machine does. Settings of OnlineKernel are
compared on the same streams.
"""

import sys
import time
from functools import cache

import numpy as np

from nearer import Comparisons, OnlineKernel, OrdinalEmbedding
from nearer.datasets import europe
from nearer.simulate import comparisons_from_points
from real_data import DATASETS
from record import write

SETS = ("europe", "music", "cars")
SPLITS = range(3)
AFTER = (300, 1_000, 4_000)  # and after all answers
SIZES = (1, 20, 200)
KERNELS = {
    "default": {},
    "shrinkage 0.03": {"shrinkage": 0.03},
    "5 steps": {"steps_per_answer": 5},
    "10 steps": {"steps_per_answer": 10},
    "5 steps, shrinkage 0.01": {"steps_per_answer": 5, "shrinkage": 0.01},
    "5 steps, cap 0.4": {"steps_per_answer": 5, "aggressiveness": 0.4},
    "5 steps, cap 0.1": {"steps_per_answer": 5, "aggressiveness": 0.1},
    "5 steps, cap 0.1, shrinkage 0.03": {"steps_per_answer": 5, "aggressiveness": 0.1, "shrinkage": 0.03},
    "5 steps, cap 0.1, shrinkage 0.1": {"steps_per_answer": 5, "aggressiveness": 0.1, "shrinkage": 0.1},
    "5 steps, cap 0.3, shrinkage 0.03": {"steps_per_answer": 5, "aggressiveness": 0.3, "shrinkage": 0.03},
    "10 steps, cap 0.1, shrinkage 0.05": {"steps_per_answer": 10, "aggressiveness": 0.1, "shrinkage": 0.05},
}


@cache
def stream(name: str, split: int) -> tuple[Comparisons, Comparisons]:
    """Return answers in the order of their arrival, and those to judge by."""
    if name == "europe":
        points = europe().points
        learned = comparisons_from_points(points, 8_000, random_state=split).flip(0.05, random_state=split)
        return learned, comparisons_from_points(points, 20_000, random_state=100 + split)
    answers = DATASETS[name]()
    is_test = answers.is_held_out(split)
    train, test = (
        Comparisons(answers.rows[part], n_objects=answers.n_objects, answers=answers.answers[part])
        for part in (~is_test, is_test)
    )
    arrival = np.random.default_rng(split).permutation(train.n_answers)[train.answers]
    return train[np.argsort(arrival, kind="stable")], test


def learn(model, answers: Comparisons, test: Comparisons, size: int, after: tuple) -> dict:
    """Return accuracy, CPU and wall-clock milliseconds per answer after some numbers of answers."""
    starts = np.append(np.unique(answers.answers, return_index=True)[1], len(answers))
    results, cpu, wall, n = {}, 0.0, 0.0, 0
    while n < answers.n_answers:
        to = min(n + size, answers.n_answers, *(number for number in after if number > n))
        part = answers[starts[n] : starts[to]]
        begun = time.process_time(), time.perf_counter()
        model.partial_fit(part)
        cpu, wall, n = cpu + time.process_time() - begun[0], wall + time.perf_counter() - begun[1], to
        if n in after:
            results[n] = model.score(test), 1000 * cpu / n, 1000 * wall / n
    return results


@cache
def refit_accuracy(name: str, split: int, n: int) -> float:
    answers, test = stream(name, split)
    return OrdinalEmbedding(random_state=split).fit(answers[answers.answers < n]).score(test)


def warm_up() -> None:
    """Compile the loops, which is not to be counted."""
    answers, _ = stream("europe", 0)
    OnlineKernel().partial_fit(answers[:100])
    OrdinalEmbedding(random_state=0).partial_fit(answers[:2_000]).partial_fit(answers[2_000:2_100])
    for loss in ("ste", "tste", "ckl", "soe", "gnmds"):
        OrdinalEmbedding(loss=loss, random_state=0).partial_fit((0, 1, 2)).partial_fit((3, 4, 5))


def compare_with_refits() -> None:
    rows = []
    for name in SETS:
        for size in SIZES:
            after = (*AFTER, stream(name, 0)[0].n_answers)
            runs = [learn(OrdinalEmbedding(random_state=s), *stream(name, s), size, after) for s in SPLITS]
            for n in after:
                accuracy, cpu, wall = np.transpose([run[n] for run in runs])
                refit = np.array([refit_accuracy(name, split, n) for split in SPLITS])
                rows.append({
                    "answers": name,
                    "at a time": size,
                    "after": n,
                    "partial_fit": float(accuracy.mean()),
                    "refit": float(refit.mean()),
                    "gap": float((refit - accuracy).mean()),
                    "standard error": float((refit - accuracy).std(ddof=1) / np.sqrt(len(SPLITS))),
                    "largest gap": float((refit - accuracy).max()),
                    "CPU ms per answer": float(cpu.mean()),
                    "ms per answer": float(wall.mean()),
                })  # fmt: skip
            write("streams", "Accuracy of a map that learns while answers arrive, against a refit", rows)


def compare_kernels() -> None:
    rows = []
    for name in SETS:
        after = (*AFTER, stream(name, 0)[0].n_answers)
        for setting, parameters in KERNELS.items():
            answers, test = stream(name, 0)
            model = OnlineKernel(n_objects=answers.n_objects, random_state=0, **parameters)
            run = learn(model, answers, test, 200, after)
            found = {f"after {n if n in AFTER else 'all'}": run[n][0] for n in after}
            rows.append(
                {"answers": name, "OnlineKernel": setting, **found, "CPU ms per answer": run[after[-1]][1]}
            )
            write("streams_kernel", "Accuracy of OnlineKernel while answers arrive, by its settings", rows)


def main() -> None:
    warm_up()
    for part in (compare_with_refits, compare_kernels):
        if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
            part()


if __name__ == "__main__":
    main()
