"""Learn a matrix of low rank by pymanopt, from rows x and outputs y ≈ Wx of a file; runs in its own environment.

    python pymanopt_peer.py job.npz

A job holds the rows (`X`, or its CSR arrays), `Y`, rows and outputs to watch twice (`validation`, `test`), a start
(`u`, `s`, `vt`) and as JSON the `method`, its `batch`, `rate` and `limit` in seconds, and the loss `enough` to end
at. One line of JSON goes to standard output: seconds of learning alone, and both mean squared errors, on the way.

"manifold" takes steps of a fixed size by `FixedRankEmbedded`'s projection and retraction. pymanopt has no
stochastic optimizer; its maintainers advise to run one on a batch after the other, from where it was, for few
iterations (github.com/pymanopt/pymanopt, issues 60, 109 and 138): "descent on batches" is `SteepestDescent` with
one iteration a batch, and "conjugate gradient" is `ConjugateGradient` on all rows. Gradients are given by hand and
factored: they are never made as a matrix of outputs by features, and autodiff has no part in it.
"""

import contextlib
import json
import os
import sys
import time

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # one core, set before numpy starts its threads
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import pymanopt  # noqa: E402
from pymanopt.manifolds import FixedRankEmbedded  # noqa: E402
from pymanopt.optimizers import ConjugateGradient, SteepestDescent  # noqa: E402
from scipy.sparse import csr_array  # noqa: E402


class Product:
    """A matrix LᵀR that is only ever multiplied, as the manifold's projection does."""

    def __init__(self, left, right):
        self.left, self.right = left, right

    def __matmul__(self, other):
        return self.left.T @ (self.right @ other)

    @property
    def T(self):
        return Product(self.right, self.left)


class Regression:
    """Half the mean squared length of y - Wx over the rows at hand, and its gradient."""

    def __init__(self, X, Y, rank):
        self.X, self.Y = X, Y
        self.manifold = manifold = FixedRankEmbedded(Y.shape[1], X.shape[1], rank)

        @pymanopt.function.numpy(manifold)
        def cost(u, s, vt):
            return 0.5 * np.square(self.missed(u, s, vt)).sum() / len(self.Y)

        @pymanopt.function.numpy(manifold)
        def gradient(u, s, vt):
            return manifold.projection((u, s, vt), Product(self.missed(u, s, vt) / len(self.Y), self.X))

        self.problem = pymanopt.Problem(manifold, cost, riemannian_gradient=gradient)

    def missed(self, u, s, vt):
        return ((self.X @ vt.T) * s) @ u.T - self.Y


class EnoughError(Exception):
    """The loss is as low as was asked for, or time is up."""


class Watch:
    """Keeps the clock of learning, which stands still while losses are looked at."""

    def __init__(self, watched, limit, enough):
        self.watched, self.limit, self.enough = watched, limit, enough
        self.seconds, self.looks, self.begun = 0.0, [], time.perf_counter()

    def look(self, point, again=0.02):
        """Look where some of the time so far has passed since the last look."""
        now = self.seconds + time.perf_counter() - self.begun
        if self.looks and now < self.looks[-1][0] * (1 + again) + 0.001:
            return
        u, s, vt = point
        losses = [float(np.square(((X @ vt.T) * s) @ u.T - Y).mean()) for X, Y in self.watched]
        self.looks.append([now, *losses])
        if max(losses) < self.enough or now > self.limit or not np.isfinite(losses).all():
            raise EnoughError
        self.seconds, self.begun = now, time.perf_counter()


def batches(X, Y, size):
    """Give batches of rows, pass by pass, without end."""
    random = np.random.default_rng(0)
    while True:
        order = random.permutation(len(Y))
        for start in range(0, len(order) - size + 1, size):
            some = order[start : start + size]
            yield X[some], Y[some]


def run(X, Y, point, watch, how):
    """Learn until the watch says that it is enough."""
    regression = Regression(X, Y, len(point[1]))
    manifold, problem = regression.manifold, regression.problem
    if how["method"] == "conjugate gradient":

        class Watched(ConjugateGradient):
            def _add_log_entry(self, *, point, **others):
                watch.look(point, again=0.0)

        Watched(verbosity=0, max_time=how["limit"], max_iterations=10_000).run(problem, initial_point=point)
        return
    optimizer = SteepestDescent(verbosity=0, max_iterations=1)
    for regression.X, regression.Y in batches(X, Y, how["batch"]):
        if how["method"] == "manifold":  # unit steps are those of the sum over rows
            step = -how["rate"] * len(regression.Y) * problem.riemannian_gradient(point)
            point = manifold.retraction(point, step)
        else:
            point = optimizer.run(problem, initial_point=point).point
        watch.look(point)


def table(job, name):
    if name in job:
        return job[name]
    return csr_array(
        tuple(job[f"{name}_{part}"] for part in ("data", "indices", "indptr")), shape=job[f"{name}_shape"]
    )


def main():
    with np.load(sys.argv[1]) as file:
        job = dict(file)
    how = json.loads(str(job["how"]))
    watched = [(table(job, f"X_{name}"), job[f"Y_{name}"]) for name in ("validation", "test")]
    X, Y = table(job, "X"), job["Y"]
    point = FixedRankEmbedded(Y.shape[1], X.shape[1], len(job["s"])).random_point()
    point = type(point)(job["u"], job["s"], job["vt"])
    watch = Watch(watched, how["limit"], how["enough"])
    with contextlib.suppress(EnoughError, np.linalg.LinAlgError):  # the second where steps are too large
        run(X, Y, point, watch, how)
    json.dump(watch.looks, sys.stdout)


if __name__ == "__main__":
    main()
