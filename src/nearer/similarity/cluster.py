"""Features and triplets on a Dask cluster: the problem that `CoCoA` solves.

Blocks of features stay on the workers that have them. Triplets are few numbers each, so the client
draws or reads all of them, sorts them by their anchor and cuts them into shards. A shard gets a table of the rows that
it mentions, from whatever blocks have them; that happens once. A round then sends M to the workers, for the gap and for
the steps, and its dual variables to every shard, and gets these and the change of M back::

    bytes per round = 8 d² (2 workers + shards) + 24 triplets

Every task is a function of what the client has or can have made again: if a worker dies, the scheduler makes its shards
again from the blocks, and these from the tasks that made them (:mod:`nearer.cluster`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from nearer.cluster import Cluster, is_dask_collection
from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.chunks import has_cluster
from nearer.comparisons.coerce import as_comparisons
from nearer.features.validation import (
    check_range,
    check_rows_differ,
    positive_weights,
    validate_features,
)
from nearer.monitor import Monitor
from nearer.selection import subsample
from nearer.similarity.cocoa import CoCoA
from nearer.similarity.inputs import (
    MIN_TRIPLETS,
    default_n_triplets,
    needs_labels,
    validate_labels,
    validate_triplets,
    weights_of_labelled,
)
from nearer.similarity.problem import Problem
from nearer.similarity.regularization import MIN_JUDGED, WORK, select_regularization
from nearer.similarity.sdca import SDCA
from nearer.similarity.shards import (
    as_block,
    ascend_shard,
    check_block,
    evaluate_shard,
    make_shard,
    matrix_of_shard,
    stack,
    take,
)
from nearer.similarity.triplets import ENTRIES, Triplets
from nearer.simulate import comparisons_from_labels

BLOCK_ENTRIES = 1 << 20  # numbers in a block of a table that comes from memory


def uses_cluster(solver: Any, *data: Any) -> bool:
    """Whether to learn on the cluster: if the solver asks, if data are Dask collections, or files and a client is there.

    Data in memory are sent to the workers only if the solver asks for that.
    """
    if isinstance(solver, CoCoA) or is_dask_collection(*data):
        return True
    if solver != "sdca" or not any(isinstance(value, ComparisonSource) for value in data):
        return False
    return has_cluster()


class ClusterTable:
    """Rows of features in blocks on the workers, checked there: an array, DataFrame or sparse table, Dask's or not."""

    def __init__(self, model: Any, X: Any, cluster: Cluster) -> None:
        self.cluster = cluster
        self.blocks = self._blocks(model, X)
        found = cluster.results(
            [cluster.submit(f"check-{c}", check_block, block) for c, block in enumerate(self.blocks)]
        )
        sizes = np.array([part.n_rows for part in found])
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        for start, part in zip(self.starts[:-1], found, strict=True):
            if part.not_finite is not None:
                raise ValueError(f"row {start + part.not_finite} of X is not finite: it has NaN or an infinity")
        self.n_rows, self.n_features = int(self.starts[-1]), found[0].lowest.size
        filled = [part for part in found if part.n_rows]
        if self.n_rows < 2:
            raise ValueError(f"X has {self.n_rows} rows; at least 2 are required")
        ends = np.array([np.min([p.lowest for p in filled], axis=0), np.max([p.highest for p in filled], axis=0)])
        check_rows_differ(ends)
        check_range(ends)

    def _blocks(self, model: Any, X: Any) -> list[Any]:
        """Return futures of the blocks, and tell the model its features."""
        if not is_dask_collection(X):
            table = validate_features(model, X, sparse=True, reset=True)
            size = max(1, BLOCK_ENTRIES // table.shape[1])
            cut = [table[start : start + size] for start in range(0, table.shape[0], size)]
            return [self.cluster.submit(f"block-{c}", as_block, part) for c, part in enumerate(cut)]
        if getattr(X, "ndim", None) != 2:
            raise ValueError(f"X must be a Dask array or DataFrame of two dimensions; got {type(X).__name__}")
        vars(model).pop("threshold_", None)
        is_frame = hasattr(X, "columns")
        features = X._meta if is_frame else np.empty((1, X.shape[1]))
        validate_data(model, features, skip_check_array=True, reset=True)
        parts = np.ravel((X if is_frame else X.rechunk({1: -1})).to_delayed())
        return self.cluster.compute(parts, as_block)

    def parts(self, which: np.ndarray, purpose: str) -> list[Any]:
        """Return futures of the blocks' parts of some rows, whose numbers are in order; a purpose names the tasks."""
        bounds = np.searchsorted(which, self.starts)
        chosen = [
            which[start:end] - first for start, end, first in zip(bounds, bounds[1:], self.starts, strict=False)
        ]
        return [
            self.cluster.submit(f"rows-{purpose}-block-{c}", take, block, rows)
            for c, (block, rows) in enumerate(zip(self.blocks, chosen, strict=True))
            if len(rows)
        ]

    def rows(self, which: np.ndarray, purpose: str) -> Any:
        """Return some rows, whose numbers are in order, to the client."""
        return stack(self.cluster.results(self.parts(which, purpose)))


class Data(NamedTuple):
    """What a similarity learns from: features, one label per row where these are given, and triplets of rows."""

    table: ClusterTable
    labels: np.ndarray | None
    triplets: Comparisons


def read_data(
    model: Any, cluster: Cluster, X: Any, y: Any, comparisons: Any, sample_weight: Any, random: np.random.Generator
) -> Data:
    """Return checked features, labels and triplets: from labels, those that a fit in memory draws."""
    labelled = needs_labels(model, y, comparisons=comparisons)
    table = ClusterTable(model, X, cluster)
    y, comparisons, sample_weight = (cluster.collect(value) for value in (y, comparisons, sample_weight))
    if not labelled:
        if sample_weight is not None:
            comparisons = as_comparisons(comparisons, sample_weight=sample_weight)
        return Data(table, None, validate_triplets(_row_names(cluster, X, table), comparisons))
    labels, known = validate_labels(y, table.n_rows)
    rows = np.flatnonzero(known)
    weights = None
    if sample_weight is not None:
        counted, weights = positive_weights(weights_of_labelled(sample_weight, y), len(rows))
        rows = rows[counted]
    n = model.n_triplets or default_n_triplets(len(rows), at_least=MIN_TRIPLETS)
    drawn = comparisons_from_labels(labels[rows], n, random, sampling=model.sampling, sample_weight=weights)
    return Data(table, labels, Comparisons(rows[drawn.rows].astype(np.int32), n_objects=table.n_rows))


def choose_regularization(
    data: Data, random: np.random.Generator, monitor: Monitor
) -> tuple[float, np.ndarray, list[dict[str, Any]]]:
    """Return λ chosen by some of the triplets on the client, their dual variables among all, and what was tried."""
    d, n = data.table.n_features, len(data.triplets)
    numbered = Comparisons(data.triplets, extra={"row": np.arange(n)})
    part = subsample(numbered, max(MIN_JUDGED, min(int(WORK / d**2), 4 * ENTRIES // d)), random)
    objects, places = np.unique(part.rows, return_inverse=True)
    rows = places.reshape(part.rows.shape).astype(np.int32)
    sample = Comparisons(rows, n_objects=len(objects), weights=part.weights, answers=part.answers)
    labels = None if data.labels is None else data.labels[objects]
    problem = Problem(Triplets(data.table.rows(objects, "sample"), rows, part.weights), random=random)
    ridge, found, selection = select_regularization(problem, sample, labels, SDCA("last"), monitor)
    alpha = np.zeros(n)
    alpha[part.extra["row"]] = 0.0 if found is None else found
    return ridge * (len(part) / n if labels is None else 1.0), alpha, selection.records()


class ClusterProblem:
    """The regularized problem with its triplets in shards on the workers; the dual variables stay with the client."""

    def __init__(
        self, data: Data, regularization: float, n_shards: int | None, random: np.random.Generator
    ) -> None:
        self.cluster, self.regularization, self.random = data.table.cluster, regularization, random
        self.n_triplets, self.n_features = len(data.triplets), data.table.n_features
        n_shards = n_shards or sum(self.cluster.threads().values())
        self.n_shards = min(n_shards, self.n_triplets)
        order = np.argsort(data.triplets.rows[:, 0], kind="stable")
        self.parts = np.array_split(order, self.n_shards)
        self.n_rounds = 0
        weights = data.triplets.weights
        total = float(self.n_triplets if weights is None else weights.sum())
        self.shards = []
        for number, part in enumerate(self.parts):
            rows = data.triplets.rows[part]
            objects, places = np.unique(rows, return_inverse=True)
            of_part = None if weights is None else weights[part]
            share = float(len(part) if of_part is None else of_part.sum()) / total
            tables = data.table.parts(objects, f"shard-{number}")
            local = places.reshape(rows.shape).astype(np.int32)
            self.shards.append(self.cluster.submit(f"shard-{number}", make_shard, tables, local, of_part, share))

    def evaluate(self, matrix: np.ndarray, alpha: np.ndarray) -> dict[str, float]:
        """Return the entries of a record: the objective, the dual and their gap, for M = M(α)."""
        losses, gaps = zip(*self._each("gap", evaluate_shard, matrix, alpha), strict=True)
        value = sum(losses) + 0.5 * self.regularization * float(np.vdot(matrix, matrix))
        return {"loss": value, "gap": sum(gaps), "dual": value - sum(gaps)}

    def ascend(self, matrix: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take an epoch of local steps in every shard; return the dual variables and the change of M."""
        settings = self.regularization, float(self.n_shards), int(self.random.integers(2**63))
        found = self._each("round", ascend_shard, matrix, alpha, *settings)
        alpha = alpha.copy()
        for part, (values, _) in zip(self.parts, found, strict=True):
            alpha[part] = values
        return alpha, sum(change for _, change in found)

    def matrix(self, alpha: np.ndarray) -> np.ndarray:
        """Return M(α)."""
        return sum(self._each("matrix", matrix_of_shard, np.empty(0), alpha, self.regularization))

    def _each(self, what: str, function: Callable, matrix: np.ndarray, alpha: np.ndarray, *arguments: Any) -> Any:
        """Return what a function finds for each shard, in their order."""
        self.n_rounds += 1
        submit, what = self.cluster.submit, f"{what}-{self.n_rounds}"
        common = self.cluster.send(f"matrix-of-{what}", matrix)
        futures = [
            submit(f"{what}-shard-{number}", function, shard, alpha[part], number, common, *arguments)
            for number, (shard, part) in enumerate(zip(self.shards, self.parts, strict=True))
        ]
        return self.cluster.results(futures)


def _row_names(cluster: Cluster, X: Any, table: ClusterTable) -> Any:
    """Return a table without columns and with the index of X, by which comparisons name its rows."""
    if not is_dask_collection(X):
        return X
    return cluster.collect(X[[]]) if hasattr(X, "columns") else np.empty((table.n_rows, 0))
