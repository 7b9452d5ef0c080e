"""`BilinearSimilarity` on a Dask cluster: rounds and seconds to a duality gap of 1e-7, and the distance to SDCA.

Sets of the paper at λ of its grid, features scaled to [-1, 1], 10,000 triplets. Each number of shards runs on that
many workers, processes of one thread each; with one shard a round is an epoch of SDCA. Where the processes have to
share cores the seconds say little; the rounds do not depend on that. "Without momentum" are rounds as CoCoA+ prints
them, 500 at most, in this process. The bound on the distance is √(2 gap/λ), of both fits together.
"""

import warnings

import numpy as np
from distributed import Client, LocalCluster

from nearer import BilinearSimilarity
from nearer.datasets import load_letter, load_vehicle
from nearer.similarity import CoCoA
from nearer.similarity.problem import Problem
from nearer.similarity.shards import TripletShard
from nearer.similarity.triplets import Triplets
from nearer.simulate import comparisons_from_labels
from record import write

SETS = {"vehicle": (load_vehicle, 0.005), "letter": (load_letter, 0.0025)}
SHARDS, N_TRIPLETS, TOL = (1, 2, 8), 10_000, 1e-7
SHOWN = (0, 1, 3, 10, 30, 100, 300)
N_PLAIN, MAX_ITER = 500, 5_000


def plain_rounds(X, answers, regularization, n_shards):
    """Return rounds, 500 at most, and the gap, of shards whose changes are summed without momentum."""
    problem = Problem(Triplets(X, answers.rows), regularization)
    random = np.random.default_rng(0)
    parts = np.array_split(np.argsort(answers.rows[:, 0], kind="stable"), n_shards)
    shards = [TripletShard(Triplets(X, answers.rows[part]), len(part) / len(answers)) for part in parts]
    alpha, matrix = np.zeros(len(answers)), np.zeros((X.shape[1],) * 2)
    for number in range(N_PLAIN + 1):
        gap = problem.evaluate(matrix, alpha)["gap"]
        if gap <= TOL or number == N_PLAIN:
            return number, gap
        total = np.zeros_like(matrix)
        for part, shard in zip(parts, shards, strict=True):
            picks = random.integers(len(part), size=len(part), dtype=np.int32)
            alpha[part], change = shard.ascend(matrix, alpha[part], regularization, float(n_shards), picks)
            total += change
        matrix += total


def main() -> None:
    rows = []
    for name, (load, regularization) in SETS.items():
        X, y = load()[:2]
        X = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
        answers = comparisons_from_labels(y, N_TRIPLETS, 0)
        settings = {"regularization": regularization, "tol": TOL, "max_iter": MAX_ITER, "random_state": 0}
        for _ in range(2):  # the first compiles
            sdca = BilinearSimilarity("sdca", **settings).fit(X, comparisons=answers)
        for n_shards in SHARDS:
            how = {"processes": True, "n_workers": n_shards, "threads_per_worker": 1, "dashboard_address": ":0"}
            with LocalCluster(**how) as cluster, Client(cluster), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = BilinearSimilarity(CoCoA(n_shards), **settings)
                model.set_params(max_iter=1).fit(X, comparisons=answers)  # compiles
                model.set_params(max_iter=MAX_ITER).fit(X, comparisons=answers)
            gaps = [record["gap"] for record in model.history_]
            n_plain, plain_gap = plain_rounds(X, answers, regularization, n_shards)
            rows.append(
                {
                    "data": name,
                    "columns": X.shape[1],
                    "shards": n_shards,
                    "rounds": model.n_iter_,
                    "epochs of SDCA": sdca.n_iter_,
                    "seconds": model.history_[-1]["seconds"],
                    "seconds of SDCA": sdca.history_[-1]["seconds"],
                    "gap": model.gap_,
                    "gap after rounds": {number: gaps[number] for number in SHOWN if number < len(gaps)},
                    "distance": float(np.linalg.norm(model.matrix_ - sdca.matrix_)),
                    "its bound": float(np.sqrt(2 * model.gap_ / regularization))
                    + float(np.sqrt(2 * sdca.gap_ / regularization)),
                    "without momentum, rounds": n_plain,
                    "without momentum, gap": plain_gap,
                }
            )
            print(rows[-1], flush=True)
    write("cluster_similarity", "CoCoA on Dask workers against SDCA in one process", rows)


if __name__ == "__main__":
    main()
