"""SVRG-SBB, ordinal embedding with a stabilized Barzilai-Borwein step: the experiments of the paper.

The paper embeds objects from triplets "i is nearer to j than to k" with three losses. It compares its stochastic method with
batch descent, SGD and SVRG on the same non-convex objective, and with projected gradient on the convex one, where a
Gram matrix is learned: on simulated points (Figures 1 and 2, Table 1), and by how well images retrieve images of their
class (Table 2, Figure 3).

The paper gives no step size but that of the convex method. Every experiment runs twice where it matters: "released", with
the settings of the authors' scripts, and "tuned", with a step size that is chosen on training data.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances

from nearer import ComparisonKernel, Comparisons, FeatureMap, OrdinalEmbedding
from nearer.datasets import load_caltech101
from nearer.embedding import SGD, SVRG, Batch
from nearer.losses import as_loss
from nearer.metrics import average_precisions, mean_average_precision, precision_at_k, recall_at_k
from nearer.monitor import Monitor
from nearer.papers.experiment import Experiment, Row, Trial, Verdict
from nearer.psd import psd_points
from nearer.simulate import all_triplets, comparisons_from_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Results = Sequence[tuple[Trial, Any]]

# ---------------------------------------------------------------------------------------------------------------------
# The methods and their settings
# ---------------------------------------------------------------------------------------------------------------------

LOSSES = {"GNMDS": "gnmds", "STE": "ste", "t-STE": "tste"}  # t-STE with alpha = dimensions - 1, as in the scripts
CONVEX = ("GNMDS", "STE")  # those that have a form over Gram matrices
EPSILON = 0.005  # of SBB_ε in the text and in Figure 1

CVX, SOLVED, BATCH, PLAIN, FIXED = "cvx", "cvx, solved", "batch", "SGD", "SVRG"
SBB_0, SBB, SBB_CODE, RELATIVE = "SVRG-SBB_0", "SVRG-SBB_ε", "SVRG-SBB_ε, ε of the script", "SVRG-SBB, relative ε"
PAPERS_METHODS = (CVX, BATCH, PLAIN, FIXED, SBB_0, SBB)
STOCHASTIC = (PLAIN, FIXED, SBB_0, SBB)
SETTINGS = ("released", "tuned")


@dataclass(frozen=True)
class Released:
    """Step sizes of the authors' scripts for one loss; those of SGD fall as step / (1 + decay · pass)."""

    cvx: float | None
    batch: float
    sgd: float
    decay: float
    svrg: float
    first: float  # of SVRG-SBB, in the first epoch
    epsilon: float


SIMULATION = {
    "GNMDS": Released(cvx=7.5e-5, batch=5e-4, sgd=1e-4, decay=0.01, svrg=5e-4, first=5e-4, epsilon=0.025),
    "STE": Released(cvx=7.5e-5, batch=5e-4, sgd=1e-4, decay=0.01, svrg=5e-4, first=5e-4, epsilon=0.025),
    "t-STE": Released(cvx=None, batch=4e-3, sgd=5e-4, decay=0.01, svrg=0.02, first=0.05, epsilon=0.005),
}
RETRIEVAL = {
    "GNMDS": Released(cvx=5e-4, batch=7.5e-3, sgd=1.5e-3, decay=0.01, svrg=3.5e-3, first=3.5e-3, epsilon=1e-5),
    "STE": Released(cvx=2.5e-3, batch=1.25e-3, sgd=6.25e-4, decay=0.05, svrg=1.25e-3, first=1.25e-3, epsilon=1e-5),
    "t-STE": Released(cvx=None, batch=7.75e-3, sgd=7.5e-4, decay=0.02, svrg=2.5e-3, first=2.5e-3, epsilon=1e-5),
}
CANDIDATES = {  # step sizes to choose from
    CVX: (1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    BATCH: (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    PLAIN: (0.003, 0.01, 0.02, 0.05, 0.1, 0.2),
    FIXED: (0.003, 0.01, 0.02, 0.05, 0.1, 0.2),
}


def solver_of(method: str, released: Released, step_size: float | None = None, epsilon: float = EPSILON) -> Any:
    """Return a solver: with the settings of the scripts, or tuned, with a chosen step size.

    SVRG-SBB has no step size to choose: tuned, its first one is found by a probe along the gradient.
    """
    tuned = step_size is not None
    first = None if tuned else released.first
    return {
        BATCH: Batch(initial_step_size=step_size or released.batch),  # times 1.01 after a decrease, else times 0.5
        PLAIN: SGD(step_size or released.sgd, decay=released.decay),
        FIXED: SVRG(step_size=step_size or released.svrg),
        SBB_0: SVRG(epsilon=0.0, initial_step_size=first),
        SBB: SVRG(epsilon=epsilon, initial_step_size=first),
        SBB_CODE: SVRG(epsilon=released.epsilon, initial_step_size=first),
        RELATIVE: SVRG(epsilon=None, initial_step_size=first),
    }[method]


@dataclass
class Path:
    """What a method passes through: gradients of single comparisons over |P|, seconds, step sizes and points.

    An epoch of SVRG counts 2m + |P| gradients, as in the paper, with m = |P|: three. A pass of SGD and a step of batch
    descent or projected gradient count one, and so does a probe for a first step. Seconds are those of the method:
    what `watch` takes does not count.
    """

    watch: Callable[["Path", Floats], bool | None]
    counts: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)

    def follow(self, record: dict[str, Any], n_rows: int, probed: bool = False) -> bool | None:
        """Take a record of a monitor; return whether to stop."""
        self._first = getattr(self, "_first", record["gradient_evaluations"])
        self.counts.append((record["gradient_evaluations"] - self._first) / n_rows + probed)
        self.seconds.append(record["seconds"])
        self.steps.append(record["step_size"])
        return self.watch(self, record["points"])


def descend(
    loss: str, solver: Any, rows: NDArray[np.int32], start: Floats, budget: float, path: Path, seed: int = 0
) -> Floats:
    """Lower the non-convex objective (2), without a ridge, for at most `budget` counts; return the points."""
    is_svrg = isinstance(solver, SVRG)
    probed = is_svrg and solver.step_size == "sbb" and solver.initial_step_size is None
    model = OrdinalEmbedding(
        start.shape[1],
        LOSSES[loss],
        solver,
        regularization=0.0,
        init=start,
        max_iter=max(1, round(budget / 3 if is_svrg else budget)),
        tol=0.0,
        random_state=seed,
        callback=lambda record: path.follow(record, len(rows), probed),
    )
    with warnings.catch_warnings():  # steps that are too long end early, and are seen in the errors
        warnings.simplefilter("ignore")
        return model.fit(Comparisons(rows, n_objects=len(start))).embedding_


def project_gradient(
    loss: str, step_size: float, rows: NDArray[np.int32], start: Floats, budget: float, path: Path
) -> Floats:
    """Run the convex method as printed, G ← Π(G − η n ∇L(G)) without a ridge; return points X with XXᵀ = G."""
    n, usable, (a, b, c), points = len(start), as_loss(LOSSES[loss], start.shape[1]), rows.astype(np.intp).T, start
    with Monitor(
        max_iter=round(budget), callback=lambda record: path.follow(record, len(rows)), view=lambda X: {"points": X}
    ) as monitor:
        while True:
            gram = points @ points.T
            near, far = squared_distances(gram, rows)
            value = float(usable.value(near, far).mean())
            if not monitor.go_on(points, loss=value, step_size=step_size, evaluations=len(rows)):
                return points
            pairs, slopes = np.concatenate([a * n + b, a * n + c]), np.concatenate(usable.slopes(near, far))
            half = np.bincount(pairs, slopes / len(rows), n * n).reshape(n, n)
            pulls = half + half.T
            points = psd_points(gram - step_size * n * (np.diag(pulls.sum(axis=1)) - pulls))


def squared_distances(gram: Floats, rows: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return the squared distances of the near and of the far pairs, from inner products."""
    square = np.diagonal(gram)
    table = square[:, None] + square - 2.0 * gram
    return table[rows[:, 0], rows[:, 1]], table[rows[:, 0], rows[:, 2]]


def error(gram: Floats, rows: NDArray[np.int32]) -> float:
    """Return the share of triplets that points with these inner products violate."""
    near, far = squared_distances(gram, rows)
    return float(np.mean(~(near < far)))


def run_method(
    loss: str, method: str, settings: Any, rows: NDArray[np.int32], start: Floats, budget: float, path: Path, seed: int
) -> Floats:
    """Run a method with a solver, or the convex one with a step size."""
    if method == CVX:
        return project_gradient(loss, settings, rows, start, budget, path)
    return descend(loss, settings, rows, start, budget, path, seed)


# ---------------------------------------------------------------------------------------------------------------------
# A. Simulations
# ---------------------------------------------------------------------------------------------------------------------

GOAL = 0.15  # training error that Table 1 is about
TUNING = 1  # draw of points, triplets and start on which step sizes are chosen
TUNING_BUDGET = 60  # counts


@lru_cache(maxsize=2)
def simulate(draw: int, n_objects: int = 100) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw 100 points from N(0, I/20) in ten dimensions; return 10,000 of all triplets, and the others."""
    random = np.random.default_rng(draw)
    rows = all_triplets(random.normal(scale=np.sqrt(1 / 20), size=(n_objects, 10))).rows
    rows = rows[random.permutation(len(rows))]
    n_train = min(10_000, len(rows) // 10)
    return rows[:n_train], rows[n_train:]


def start_at(seed: int, n_objects: int, n_dims: int = 10) -> Floats:
    """Return a start as in the scripts: uniform in [0, 1]."""
    return np.random.default_rng([7, seed]).uniform(size=(n_objects, n_dims))


def to_goal(rows: NDArray[np.int32]) -> Path:
    """Return a path that ends where the training error is at most 0.15."""
    return Path(lambda path, points: error(points @ points.T, rows) <= GOAL)


@lru_cache(maxsize=64)
def tuned_step(loss: str, method: str, n_objects: int, by: str) -> float:
    """Return the step size that is best on a draw of its own, by its training triplets.

    By "goal" it is the one with the fewest gradients to the goal, by "curve" the one with the lowest mean training
    error on the way through the budget.
    """
    if method not in CANDIDATES:
        return 1.0  # SVRG-SBB has none
    train, _ = simulate(TUNING, n_objects)
    start, scores = start_at(-1 % 10_007, n_objects), []
    for step_size in CANDIDATES[method]:
        errors: list[float] = []

        def watch(path: Path, points: Floats, errors: list[float] = errors) -> bool:
            errors.append(error(points @ points.T, train))
            return by == "goal" and errors[-1] <= GOAL

        path = Path(watch)
        settings = step_size if method == CVX else solver_of(method, SIMULATION[loss], step_size)
        run_method(loss, method, settings, train, start, TUNING_BUDGET, path, 0)
        reached = path.counts[-1] if errors[-1] <= GOAL else np.inf
        scores.append((reached, errors[-1]) if by == "goal" else (float(np.mean(on_grid(path.counts, errors, 60))), 0))
    return CANDIDATES[method][min(range(len(scores)), key=scores.__getitem__)]


def settings_of(trial: Trial, by: str) -> tuple[Any, float | None]:
    """Return the solver, or step size of the convex method, of a trial, and the step size that was chosen for it."""
    loss, method = trial["loss"], trial["method"]
    released, chosen = SIMULATION[loss], None
    if trial["settings"] == "tuned":
        chosen = tuned_step(loss, method, trial["objects"], by)
    settings = (chosen or released.cvx) if method == CVX else solver_of(method, released, chosen)
    return settings, chosen if method in CANDIDATES else None


def on_grid(counts: Sequence[float], values: Sequence[float], budget: int) -> Floats:
    """Return the value last seen at 0, 3, 6, … counts."""
    grid = np.arange(0, budget + 1, 3)
    places = np.searchsorted(counts, grid + 1e-9, side="right") - 1
    return np.asarray(values, dtype=np.float64)[np.maximum(places, 0)]


def rounded(values: Sequence[float] | Floats, digits: int = 5) -> list[float]:
    """Return numbers with that many significant digits, for records."""
    return [float(f"{value:.{digits}g}") for value in values]


def convex_solution(loss: str, rows: NDArray[np.int32], n_objects: int, **parameters: Any) -> ComparisonKernel:
    """Return the solution of the convex program, with a ridge: without one there need not be any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ComparisonKernel(LOSSES[loss], **parameters).fit(Comparisons(rows, n_objects=n_objects))


class Figure1(Experiment):
    """Step sizes over epochs, of SBB with ε = 0 and 0.005 for three losses, and of our relative ε.

    The data are those of Figure 2. Every run starts at another place, with the first step of the scripts: 0.0005 for
    GNMDS and STE, 0.05 for t-STE. The paper shows one run; here are the median and the quartiles of several. "Spread"
    is the largest over the smallest step of a run from the second epoch on, where formula (8) decides: the median over
    runs. Our relative ε also goes back with half the step where the objective rises.
    """

    name = "figure1"
    title = "SVRG-SBB, Figure 1: step sizes over epochs"
    sizes: ClassVar = {
        "tiny": {"losses": ["STE", "t-STE"], "starts": 2, "epochs": 6, "objects": 30},
        "quick": {"losses": list(LOSSES), "starts": 5, "epochs": 50, "objects": 100},
        "full": {"losses": list(LOSSES), "starts": 50, "epochs": 50, "objects": 100},
    }
    minutes: ClassVar = {"quick": 0.1, "full": 1.0}
    methods: ClassVar = {SBB_0: "SBB₀, ε = 0", SBB: "SBB_ε, ε = 0.005", RELATIVE: "relative ε (ours)"}

    def trials(self, losses: list[str], starts: int, epochs: int, objects: int) -> list[Trial]:
        """Return a trial per loss, step rule and start."""
        return [
            {"loss": loss, "method": method, "start": start, "epochs": epochs, "objects": objects}
            for loss in losses
            for method in self.methods
            for start in range(starts)
        ]

    def run(self, trial: Trial) -> Row:
        """Return the step size of every epoch."""
        train, _ = simulate(0, trial["objects"])
        path = Path(lambda path, points: None)
        solver = solver_of(trial["method"], SIMULATION[trial["loss"]])
        start = start_at(trial["start"], trial["objects"])
        descend(trial["loss"], solver, train, start, 3 * trial["epochs"], path, trial["start"])
        return {"steps": rounded(path.steps[: trial["epochs"]]), "m": len(train)}  # the last is not taken

    def table(self, results: Results) -> list[Row]:
        """Return the spread of the steps per loss and rule, in all epochs and in both halves."""
        rows = []
        for loss, method in dict.fromkeys((trial["loss"], trial["method"]) for trial, _ in results):
            runs = [np.array(result["steps"][1:]) for _, result in select(results, loss=loss, method=method)]
            rows.append(
                {
                    "loss": loss,
                    "rule": self.methods[method],
                    "median step": float(np.median(np.concatenate(runs))),
                    "largest step": float(max(run.max() for run in runs)),
                    "spread": spread(runs),
                    "spread, first half": spread([run[: len(run) // 2] for run in runs]),
                    "spread, second half": spread([run[len(run) // 2 :] for run in runs]),
                }
            )
        return rows

    def draw(self, figure: "Figure", results: Results) -> None:
        """Draw a panel per rule and a curve per loss, with quartiles."""
        axes = figure.subplots(1, 3, sharey=True)
        for panel, (method, title) in zip(axes, self.methods.items(), strict=True):
            for number, loss in enumerate(LOSSES):
                runs = [result["steps"] for _, result in select(results, loss=loss, method=method)]
                length = max(map(len, runs), default=0)
                runs = [run for run in runs if len(run) == length]  # a run that settles early ends
                if runs:
                    draw_quartiles(panel, np.arange(length), runs, loss, COLORS[number], "-o^"[number])
            panel.set(title=title, xlabel="epoch", yscale="log")
        axes[0].set_ylabel("step size")
        axes[0].legend(frameon=False)

    def verdicts(self, table: list[Row], results: Results) -> list[Verdict]:
        """Compare the spreads, and check the upper bound of (9)."""
        of = {(row["loss"], row["rule"]): row for row in table}
        losses = list(dict.fromkeys(row["loss"] for row in table))
        zero, printed, ours = ([of[loss, rule] for loss in losses] for rule in self.methods.values())
        bounded = [
            max(result["steps"][1:]) <= 1 / (result["m"] * EPSILON) * 1.0001 for _, result in select(results, method=SBB)
        ]

        def listed(rows: list[Row], column: str = "spread") -> str:
            return ", ".join(f"{row['loss']} {row[column]:.3g}" for row in rows)

        return [
            Verdict(
                "SBB₀ varies dramatically from epoch to epoch (spread above 10 for every loss)",
                all(row["spread"] > 10 for row in zero),
                f"spread {listed(zero)}; relative ε {listed(ours)}",
            ),
            Verdict(
                "ε = 0.005 makes the step more stable, for every loss",
                all(a["spread"] < b["spread"] for a, b in zip(printed, zero, strict=True)),
                f"spread with ε = 0.005: {listed(printed)}; with ε = 0: {listed(zero)}",
            ),
            Verdict(
                "SBB_ε changes significantly in the first epochs only (spread of the second half below 2)",
                all(row["spread, second half"] < min(2.0, row["spread, first half"]) for row in printed),
                f"second half {listed(printed, 'spread, second half')}; first {listed(printed, 'spread, first half')}; "
                f"relative ε {listed(ours, 'spread, second half')} and {listed(ours, 'spread, first half')}",
            ),
            Verdict(
                "the upper bound 1/(mε) of (9) holds",
                all(bounded),
                f"in {sum(bounded)} of {len(bounded)} runs of SBB_ε",
            ),
        ]


def select(results: Results, **wanted: Any) -> list[tuple[Trial, Any]]:
    """Return the trials with these settings, and their results."""
    return [(trial, result) for trial, result in results if all(trial[key] == value for key, value in wanted.items())]


def spread(runs: list[Floats]) -> float:
    """Return the median over runs of the largest over the smallest value."""
    return float(np.median([run.max() / run.min() for run in runs if len(run)]))


# By method in Figures 2 and 3, the same everywhere; a color-blind safe palette.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f", "#56b4e9", "#000000", "#999999")
COLOR = dict(zip((SBB, FIXED, BATCH, PLAIN, CVX, SBB_0, RELATIVE, SOLVED), COLORS, strict=True))
MARKER = {CVX: "+", BATCH: "o", PLAIN: "*", FIXED: "x", SBB_0: "^", SBB: "s", RELATIVE: "v", SOLVED: ""}


def draw_quartiles(
    panel: "Axes", x: NDArray[Any], runs: Any, label: str, color: str, marker: str = "", every: int = 5
) -> None:
    """Draw the median of runs and a band between their quartiles."""
    low, middle, high = np.quantile(np.asarray(runs), (0.25, 0.5, 0.75), axis=0)
    style = {"marker": None if marker in ("", "-") else marker, "markevery": every, "markersize": 4}
    panel.plot(x, middle, color=color, label=label, linewidth=1.3, **style)
    panel.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


class Figure2(Experiment):
    """Generalization error over gradient counts.

    100 points from N(0, I/20) in ten dimensions; 10,000 of all triplets to learn from, the error is that on all the
    others. Fifty starts, uniform in [0, 1], on the same triplets: median and quartiles. The horizontal axis is the number
    of gradients of single comparisons over |P|.

    "Released" are the step sizes of the authors' scripts, ε = 0.005 as in the text. "Tuned" is a step size from a short
    list with the lowest mean training error over 60 counts, on another draw of points, triplets and start. SVRG-SBB has
    nothing to choose: tuned, a probe finds its first step. "cvx" is projected gradient as printed; "cvx, solved" is the
    optimum of the convex program with a ridge that held-out training triplets choose: it has no counts, so it is a line.
    """

    name = "figure2"
    title = "SVRG-SBB, Figure 2: generalization error over gradient counts"
    sizes: ClassVar = {
        "tiny": {"losses": ["STE"], "methods": [CVX, BATCH, SBB, RELATIVE], "starts": 2, "budget": 12, "objects": 30},
        "quick": {"losses": list(LOSSES), "methods": [*PAPERS_METHODS, RELATIVE], "starts": 3, "budget": 150, "objects": 100},
        "full": {"losses": list(LOSSES), "methods": [*PAPERS_METHODS, RELATIVE], "starts": 50, "budget": 150, "objects": 100},
    }  # fmt: skip
    minutes: ClassVar = {"quick": 0.8, "full": 12.0}

    def trials(self, losses: list[str], methods: list[str], starts: int, budget: int, objects: int) -> list[Trial]:
        """Return a trial per loss, settings, method and start, and one of the convex optimum."""
        same = {"budget": budget, "objects": objects}
        trials = [
            {"loss": loss, "settings": settings, "method": method, "start": start, **same}
            for loss in losses
            for settings in SETTINGS
            for method in methods
            if method != CVX or loss in CONVEX
            for start in range(starts)
        ]
        convex = [loss for loss in losses if loss in CONVEX]
        return trials + [{"loss": loss, "settings": "tuned", "method": SOLVED, "start": 0, **same} for loss in convex]

    def run(self, trial: Trial) -> Row:
        """Return the errors on the held-out triplets at 0, 3, 6, … counts."""
        train, test = simulate(0, trial["objects"])
        if trial["method"] == SOLVED:
            model = convex_solution(trial["loss"], train, trial["objects"])
            return {"errors": rounded([error(model.kernel_, test)]), "chosen": model.regularization_}
        settings, chosen = settings_of(trial, by="curve")
        seen: list[tuple[float, float]] = []

        def watch(path: Path, points: Floats) -> None:
            if not seen or path.counts[-1] - seen[-1][0] >= 3 - 1e-9 or path.counts[-1] % 3 == 0:
                seen.append((path.counts[-1], error(points @ points.T, test)))

        start = start_at(trial["start"], trial["objects"])
        run_method(
            trial["loss"], trial["method"], settings, train, start, trial["budget"], Path(watch), trial["start"]
        )
        counts, errors = zip(*seen, strict=True)
        return {"errors": rounded(on_grid(counts, errors, trial["budget"])), "chosen": chosen}

    def table(self, results: Results) -> list[Row]:
        """Return the median error after 30 counts and at the end, its quartiles, and the counts to 0.15."""
        rows = []
        for loss, settings, method in dict.fromkeys((t["loss"], t["settings"], t["method"]) for t, _ in results):
            found = select(results, loss=loss, settings=settings, method=method)
            curves = np.array([result["errors"] for _, result in found])
            median = np.median(curves, axis=0)
            low, high = np.quantile(curves[:, -1], (0.25, 0.75))
            below = np.flatnonzero(median <= GOAL)
            rows.append(
                {
                    "loss": loss,
                    "settings": settings,
                    "method": method,
                    "counts to 0.15": int(3 * below[0]) if len(below) and method != SOLVED else None,
                    "error at 30": float(median[min(10, len(median) - 1)]) if method != SOLVED else None,
                    "error at the end": float(median[-1]),
                    "lower quartile": float(low),
                    "upper quartile": float(high),
                    "chosen": found[0][1]["chosen"],
                }
            )
        return rows

    def draw(self, figure: "Figure", results: Results) -> None:
        """Draw the released settings above the tuned ones, a column per loss."""
        losses = list(dict.fromkeys(trial["loss"] for trial, _ in results))
        figure.set_size_inches(11.0, 7.0)
        axes = figure.subplots(2, len(losses), sharey=True, sharex=True, squeeze=False)
        for line, settings in zip(axes, SETTINGS, strict=True):
            for panel, loss in zip(line, losses, strict=True):
                for method, color in COLOR.items():
                    runs = [r["errors"] for _, r in select(results, loss=loss, settings=settings, method=method)]
                    if method == SOLVED and runs:
                        panel.axhline(runs[0][0], color=color, linestyle="--", label=method, linewidth=1.3)
                    elif runs:
                        x = np.arange(0, 3 * len(runs[0]), 3)
                        draw_quartiles(panel, x, runs, method, color, MARKER[method])
                panel.set(title=f"{loss}, {settings}", ylim=(0.0, 0.55))
        for panel in axes[-1]:
            panel.set_xlabel("gradients / |P|")
        for line in axes:
            line[0].set_ylabel("generalization error")
        named = {label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels())}
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, frameon=False)

    def verdicts(self, table: list[Row], results: Results) -> list[Verdict]:
        """Check what the paper says of the curves, with either settings."""
        verdicts = []
        for settings in SETTINGS:
            of = {(row["loss"], row["method"]): row for row in table if row["settings"] == settings}
            losses = list(dict.fromkeys(loss for loss, _ in of))
            verdicts += self._of_settings(settings, of, losses, results)
        return verdicts

    def _of_settings(
        self, settings: str, of: dict[tuple[str, str], Row], losses: list[str], results: Results
    ) -> list[Verdict]:
        """Check the claims for the released or the tuned settings."""
        methods = [method for method in PAPERS_METHODS if any((loss, method) in of for loss in losses)]
        whole = set(PAPERS_METHODS) <= set(methods)

        def listed(column: str, names: Sequence[str] = methods, digits: int = 3) -> str:
            return "; ".join(
                f"{loss}: "
                + ", ".join(
                    f"{name} {'never' if of[loss, name][column] is None else format(of[loss, name][column], f'.{digits}g')}"
                    for name in names
                    if (loss, name) in of
                )
                for loss in losses
            )

        def first(loss: str, name: str) -> float:
            counts = of[loss, name]["counts to 0.15"]
            return np.inf if counts is None else float(counts)

        def is_best(loss: str) -> bool:
            mine, others = of[loss, SBB], [name for name in methods if name != SBB and (loss, name) in of]
            ends = [of[loss, name]["error at the end"] for name in others]
            return first(loss, SBB) <= min(first(loss, name) for name in others) and mine[
                "error at the end"
            ] <= min(ends) + 0.005

        verdicts = [
            Verdict(
                f"SVRG-SBB_ε converges fastest and has almost the best error, for every loss ({settings})",
                all(is_best(loss) for loss in losses) if whole else None,
                f"counts to 0.15: {listed('counts to 0.15', (*methods, RELATIVE))}; error at the end: "
                f"{listed('error at the end', (*methods, RELATIVE))}",
            )
        ]
        if not whole:
            return verdicts
        rises = {
            loss: [largest_rise(np.array(result["errors"])) for _, result in
                   select(results, loss=loss, settings=settings, method=SBB_0)]
            for loss in losses
        }  # fmt: skip
        early = {loss: float(np.median([a for a, _ in each])) for loss, each in rises.items()}
        late = {loss: float(np.median([b for _, b in each])) for loss, each in rises.items()}
        verdicts += [
            Verdict(
                f"all stochastic methods are ahead of batch descent after 30 counts, for every loss ({settings})",
                all(
                    of[loss, name]["error at 30"] < of[loss, BATCH]["error at 30"]
                    for loss in losses
                    for name in STOCHASTIC
                ),
                f"error at 30: {listed('error at 30', (BATCH, *STOCHASTIC))}",
            ),
            Verdict(
                f"SVRG-SBB_0 and SVRG-SBB_ε end with almost the same error (0.01), for every loss ({settings})",
                all(abs(of[x, SBB_0]["error at the end"] - of[x, SBB]["error at the end"]) <= 0.01 for x in losses),
                listed("error at the end", (SBB_0, SBB)),
            ),
            Verdict(
                f"SVRG-SBB_0 is unstable in the first ten epochs and stable later, for every loss ({settings})",
                all(early[loss] > 0.01 > late[loss] for loss in losses),
                "largest rise of the error in an epoch, first ten and later: "
                + ", ".join(f"{loss} {early[loss]:.3f} and {late[loss]:.4f}" for loss in losses),
            ),
        ]
        return verdicts


def largest_rise(errors: Floats) -> tuple[float, float]:
    """Return the largest rise from one point of the grid to the next, in the first ten and later."""
    rises = np.maximum(np.diff(errors), 0.0)
    return float(rises[:10].max()), float(rises[10:].max(initial=0.0))
