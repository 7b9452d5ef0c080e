"""Features and triplets on a Dask cluster: the problem that `CoCoA` solves. The only file of similarities with Dask.

Blocks of features stay where they are, or are made where there is room. Triplets are few numbers each, so the client
draws or reads all of them, sorts them by their anchor and cuts them into shards. A shard gets a table of the rows that
it mentions, from whatever blocks have them; that happens once. A round then sends M to the workers, for the gap and for
the steps, and its dual variables to every shard, and gets these and the change of M back::

    bytes per round = 8 d² (2 workers + shards) + 24 triplets

Every task is a function of what the client has or can have made again: if a worker dies, the scheduler makes its shards
again from the blocks, these from the tasks that made them, and the client repeats a round that was lost. So a worker
takes nothing with it.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from sklearn.utils.validation import validate_data

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import as_comparisons
from nearer.features.validation import (
    check_range,
    check_rows_differ,
    is_dask_collection,
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

LOOK_AFTER = 5.0  # seconds of a round, whether the scheduler is still there
ATTEMPTS = 3  # of a round of which something was lost
BLOCK_ENTRIES = 1 << 20  # numbers in a block of a table that comes from memory


def connect() -> Any:
    """Return the active client; raise an ImportError without Dask, and a ValueError without a client."""
    try:
        from distributed import get_client
    except ImportError:
        raise ImportError('training on a cluster needs Dask: pip install "nearer[cluster]"') from None
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "training on a cluster needs a dask.distributed.Client, and none is active: create one before fit, "
            'Client() for this machine or Client("tcp://…") for a cluster'
        ) from None


def uses_cluster(solver: Any, *data: Any) -> bool:
    """Whether to learn on the cluster: if the solver asks, if data are Dask collections, or files and a client is there.

    Data in memory are never sent unasked.
    """
    if isinstance(solver, CoCoA) or is_dask_collection(*data):
        return True
    if solver != "sdca" or not any(isinstance(value, ComparisonSource) for value in data):
        return False
    if "distributed" not in sys.modules:  # where there is a client, someone has imported it
        return False
    try:
        connect()
    except ValueError:
        return False
    return True


class ClusterTable:
    """Rows of features in blocks on the workers, checked there: an array, DataFrame or sparse table, Dask's or not."""

    def __init__(self, model: Any, X: Any, client: Any) -> None:
        self.client, self.name = client, uuid4().hex
        self.blocks = self._blocks(model, X)
        found = client.gather([self._submit("check", block, check_block) for block in enumerate(self.blocks)])
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
            return [self._submit("block", part, as_block) for part in enumerate(cut)]
        if getattr(X, "ndim", None) != 2:
            raise ValueError(f"X must be a Dask array or DataFrame of two dimensions; got {type(X).__name__}")
        from dask import delayed

        vars(model).pop("threshold_", None)
        is_frame = hasattr(X, "columns")
        features = X._meta if is_frame else np.empty((1, X.shape[1]))
        validate_data(model, features, skip_check_array=True, reset=True)
        parts = np.ravel((X if is_frame else X.rechunk({1: -1})).to_delayed())
        return list(self.client.compute([delayed(as_block)(part) for part in parts]))

    def _submit(self, what: str, numbered: tuple[int, Any], function: Callable, *arguments: Any) -> Any:
        number, block = numbered
        return submit(self.client, function, block, *arguments, key=f"sdca-{what}-{number}-{self.name}")

    def parts(self, which: np.ndarray, purpose: str) -> list[Any]:
        """Return futures of the blocks' parts of some rows, whose numbers are in order."""
        bounds = np.searchsorted(which, self.starts)
        return [
            self._submit(f"rows-{purpose}-block", (c, block), take, which[bounds[c] : bounds[c + 1]] - self.starts[c])
            for c, block in enumerate(self.blocks)
            if bounds[c] < bounds[c + 1]
        ]  # fmt: skip

    def rows(self, which: np.ndarray) -> Any:
        """Return some rows, whose numbers are in order, to the client."""
        return stack(self.client.gather(self.parts(which, "sample")))


class Data(NamedTuple):
    """What a similarity learns from: features, one label per row where these are given, and triplets of rows."""

    table: ClusterTable
    labels: np.ndarray | None
    triplets: Comparisons


def read_data(
    model: Any, client: Any, X: Any, y: Any, comparisons: Any, sample_weight: Any, random: np.random.Generator
) -> Data:
    """Return checked features, labels and triplets: from labels, those that a fit in memory draws."""
    labelled = needs_labels(model, y, comparisons=comparisons)
    table = ClusterTable(model, X, client)
    y, comparisons, sample_weight = (collect(client, value) for value in (y, comparisons, sample_weight))
    if not labelled:
        if sample_weight is not None:
            comparisons = as_comparisons(comparisons, sample_weight=sample_weight)
        return Data(table, None, validate_triplets(_row_names(client, X, table), comparisons))
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
    problem = Problem(Triplets(data.table.rows(objects), rows, part.weights), random=random)
    ridge, found, selection = select_regularization(problem, sample, labels, SDCA("last"), monitor)
    alpha = np.zeros(n)
    alpha[part.extra["row"]] = 0.0 if found is None else found
    return ridge * (len(part) / n if labels is None else 1.0), alpha, selection.records()


class ClusterProblem:
    """The regularized problem with its triplets in shards on the workers; the dual variables stay with the client."""

    def __init__(
        self, data: Data, regularization: float, n_shards: int | None, random: np.random.Generator
    ) -> None:
        self.client, self.regularization, self.random = data.table.client, regularization, random
        self.n_triplets, self.n_features = len(data.triplets), data.table.n_features
        n_shards = n_shards or max(1, sum(self.client.nthreads().values()))
        self.n_shards = min(n_shards, self.n_triplets)
        order = np.argsort(data.triplets.rows[:, 0], kind="stable")
        self.parts = np.array_split(order, self.n_shards)
        self.name, self._n_rounds = uuid4().hex, 0
        weights = data.triplets.weights
        total = float(self.n_triplets if weights is None else weights.sum())
        self.shards = []
        for number, part in enumerate(self.parts):
            rows = data.triplets.rows[part]
            objects, places = np.unique(rows, return_inverse=True)
            of_part = None if weights is None else weights[part]
            share = float(len(part) if of_part is None else of_part.sum()) / total
            tables = data.table.parts(objects, f"shard-{number}-{self.name}")
            local = places.reshape(rows.shape).astype(np.int32)
            key = f"sdca-shard-{number}-{self.name}"
            self.shards.append(submit(self.client, make_shard, tables, local, of_part, share, key=key))

    def evaluate(self, matrix: np.ndarray, alpha: np.ndarray) -> dict[str, float]:
        """Return the entries of a record: the objective, the dual and their gap, for M = M(α)."""
        losses, gaps = zip(*self._each("gap", evaluate_shard, matrix, alpha), strict=True)
        value = sum(losses) + 0.5 * self.regularization * float(np.vdot(matrix, matrix))
        return {"loss": value, "gap": sum(gaps), "dual": value - sum(gaps)}

    def ascend(self, matrix: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take an epoch of local steps in every shard; return the dual variables and the change of M."""
        seed = int(self.random.integers(2**63))
        settings = {"regularization": self.regularization, "sigma": float(self.n_shards), "seed": seed}
        found = self._each("round", ascend_shard, matrix, alpha, **settings)
        alpha = alpha.copy()
        for part, (values, _) in zip(self.parts, found, strict=True):
            alpha[part] = values
        return alpha, sum(change for _, change in found)

    def matrix(self, alpha: np.ndarray) -> np.ndarray:
        """Return M(α)."""
        return sum(self._each("matrix", matrix_of_shard, np.empty(0), alpha, regularization=self.regularization))

    def _each(self, what: str, function: Callable, matrix: np.ndarray, alpha: np.ndarray, **arguments: Any) -> Any:
        """Return what a function finds for each shard, in their order; repeated if the cluster lost some of it."""
        self._n_rounds += what == "round"
        error: Exception | None = None
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            run = uuid4().hex
            try:
                # A task rather than scattered data, which would be lost with the worker that has them.
                common = submit(self.client, np.copy, matrix, key=f"sdca-matrix-{self._n_rounds}-{run}")
                keys = [f"sdca-{what}-{self._n_rounds}-shard-{k}-{run}" for k in range(self.n_shards)]
                inputs = self.shards, [alpha[part] for part in self.parts], range(self.n_shards)
                with large_graphs():
                    futures = self.client.map(partial(function, **arguments), *inputs, key=keys, matrix=common)
                return self._gather(futures)
            except (CancelledError, OSError) as lost:
                error = lost
        raise ConnectionError(
            f"the Dask cluster failed in round {self._n_rounds} of the fit ({error or 'the scheduler is gone'}). "
            "Start the fit again on a cluster that runs"
        ) from error

    @property
    def _is_closed(self) -> bool:
        """Whether the client has given up its scheduler; it would wait for results for ever."""
        return self.client.status in ("closing", "closed") or self.client.scheduler is None

    def _gather(self, futures: list[Any]) -> list[Any]:
        """Return results, looking from time to time whether the scheduler is still there."""
        from distributed import wait

        while not self._is_closed:
            try:
                wait(futures, timeout=LOOK_AFTER)
            except TimeoutError:
                continue
            return list(self.client.gather(futures))
        raise CancelledError("the scheduler is gone")


def submit(client: Any, function: Callable, *arguments: Any, key: str) -> Any:
    """Submit a named task with arguments that may be large: they are what a lost result is made from again."""
    with large_graphs():
        return client.submit(function, *arguments, key=key)


@contextmanager
def large_graphs() -> Iterator[None]:
    """Allow tasks to have large arguments without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        yield


def collect(client: Any, value: Any) -> Any:
    """Return a Dask collection as the object in memory that it stands for, and anything else as it is."""
    return client.compute(value).result() if is_dask_collection(value) else value


def _row_names(client: Any, X: Any, table: ClusterTable) -> Any:
    """Return a table without columns and with the index of X, by which comparisons name its rows."""
    if not is_dask_collection(X):
        return X
    return client.compute(X[[]]).result() if hasattr(X, "columns") else np.empty((table.n_rows, 0))
