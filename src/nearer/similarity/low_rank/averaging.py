"""LowRankSimilarity on a Dask cluster: shards of the rows learn apart, and the products of their factors are averaged.

Start, standardization and step size are those of the first shard. In a round every shard takes steps from the common W,
and the next one is the best approximation, of the same rank, of the mean of the K products::

    W ← truncated SVD of (1/K) Σ_k A_k B_kᵀ

The factors themselves cannot be averaged: an invertible matrix between the two leaves their product as it is, and shards
end with different ones. Shards are random, as blocks may be sorted by class. A round sends 16 d·rank bytes per shard and
factor. Every task is a function of what the client has or can have made again (:mod:`nearer.cluster`).
"""

import time
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from nearer.cluster import Cluster
from nearer.comparisons.random_state import child_generator
from nearer.lowrank import product_svd
from nearer.similarity.cluster import ClusterTable
from nearer.similarity.inputs import default_n_triplets, needs_labels, validate_labels
from nearer.similarity.low_rank.held_out import split_objects
from nearer.similarity.low_rank.solvers import TripletStream
from nearer.similarity.shards import stack
from nearer.simulate.labels import warn_of_single_members

N_ROUNDS = 4
FEWEST_ROWS = 100  # of a shard

Factors = tuple[np.ndarray, ...]


class RowShard(NamedTuple):
    """Some of the rows, and their classes."""

    table: Any
    labels: np.ndarray


class Common(NamedTuple):
    """The factors that all shards go on from: Y of W = YYᵀ, or A and B of W = ABᵀ."""

    factors: Factors


class Learned(NamedTuple):
    """What a shard returns: factors, the mean loss before its steps, and how many it took."""

    factors: Factors
    loss: float
    n_steps: int


def average_products(models: Sequence[Factors]) -> Factors:
    """Return the factors, of equal length, of the best approximation of their rank of the mean of some products.

    Parameters
    ----------
    models : sequence of tuple of array of shape (d, rank)
        Of each model Y of W = YYᵀ, or A and B of W = ABᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> factor = np.array([[1.0], [2.0]])
    >>> (average,) = average_products([(factor,), (-factor,)])
    >>> average @ average.T
    array([[1., 2.],
           [2., 4.]])
    """
    sides = [np.hstack(side) / np.sqrt(len(models)) for side in zip(*models, strict=True)]
    left, values, right = product_svd(sides[0], sides[-1])
    rank = models[0][0].shape[1]
    roots = np.sqrt(values[:rank])
    return tuple(side[:, :rank] * roots for side in (left, right)[: len(sides)])


def fit_on_cluster(model: Any, X: Any, y: Any, comparisons: Any) -> None:
    """Learn from rows and labels on the workers of the active client, and set the learned attributes."""
    if comparisons is not None:
        raise ValueError(
            "from Dask collections LowRankSimilarity learns from labels y: the rows of a comparison would be in "
            "different shards. BilinearSimilarity('sdca') takes comparisons with them. Or load the data: X.compute()"
        )
    needs_labels(model, y)
    cluster, random = Cluster(), child_generator(model.random_state)
    with model._stream_monitor() as monitor:
        monitor.max_iter = N_ROUNDS
        began = time.perf_counter()
        table = ClusterTable(model, X, cluster)
        labels, known = validate_labels(cluster.collect(y), table.n_rows, stacklevel=6)  # where fit is called
        rows, labels = np.flatnonzero(known), np.unique(labels[known], return_inverse=True)[1]
        warn_of_single_members(labels, stacklevel=5)
        model._check_rank(table.n_features)
        model._begin(table.n_features)
        learned_from, held_out = np.arange(len(rows)), None
        if model._stops_early(labels):
            by_classes = model._holds_out_classes(labels)
            learned_from, held_out = split_objects(labels, model.validation_fraction, random, by_classes)
        problem = ShardedRows(model, table, rows, labels, learned_from, random)
        common = problem.start()
        if held_out is not None:
            objects = model._prepared(table.rows(rows[held_out.objects], "held-out"))
            monitor.judge = held_out.judge(objects, labels, model._metric, model.normalize_)
            monitor.best = monitor.judge(common)[0], common.factors
        del table  # the blocks, of which the shards are made
        for number in range(1, N_ROUNDS + 1):
            seconds = None if model.max_seconds is None else began + model.max_seconds - time.perf_counter()
            common, loss = problem.learn(common, number, 0.0 if monitor.stopped else seconds)
            if not monitor.go_on(common, iteration=number, loss=loss, n_steps=problem.n_taken):
                break
        result = monitor.result(common.factors)
    model._set_factors(result.solution)
    model._set_result(result)
    model.n_steps_ = problem.n_taken


class ShardedRows:
    """Rows in shards on the workers, of which each learns apart."""

    def __init__(
        self,
        model: Any,
        table: ClusterTable,
        rows: np.ndarray,
        labels: np.ndarray,
        learned_from: np.ndarray,
        random: np.random.Generator,
    ) -> None:
        self.model, self.cluster, self.random, self.n_taken = model, table.cluster, random, 0
        self.parts = deal(labels, learned_from, sum(self.cluster.threads().values()), random)
        submit = self.cluster.submit
        shards = [
            submit(f"shard-{k}", make_shard, table.parts(rows[part], f"shard-{k}"), labels[part])
            for k, part in enumerate(self.parts)
        ]
        seed = int(random.integers(2**63))
        self.started = submit("start", find_start, for_workers(model), shards[0], seed)
        self.shards = [submit(f"prepared-{k}", prepare, self.started, shard) for k, shard in enumerate(shards)]

    def start(self) -> Common:
        """Return the start, and set what else the first shard says."""
        (found,) = self.cluster.results([self.started])
        for name in ("rank_", "mean_", "scale_", "learning_rate_", "selection_"):
            setattr(self.model, name, getattr(found, name))
        return factors_of(found)

    def learn(self, common: Common, number: int, seconds: float | None) -> tuple[Common, float]:
        """Return the average after a round, and the mean loss before its steps."""
        submit, n_shards, name = self.cluster.submit, len(self.shards), f"round-{number}-shard"
        sent = self.cluster.send(f"factors-{number}", common)
        seeds = self.random.integers(2**63, size=n_shards).tolist()
        sizes = [self._n_steps(len(part), (number - 1) * n_shards + k) for k, part in enumerate(self.parts)]
        arguments = zip(self.shards, seeds, sizes, strict=True)
        found: list[Learned] = self.cluster.results(
            [
                submit(f"{name}-{k}", learn_shard, self.started, shard, sent, seed, n, self.n_taken, seconds)
                for k, (shard, seed, n) in enumerate(arguments)
            ]
        )
        taken = [one.n_steps for one in found]
        self.n_taken += sum(taken)
        loss = float(np.average([one.loss for one in found], weights=taken))
        return Common(average_products([one.factors for one in found])), loss

    def _n_steps(self, n_rows: int, place: int) -> int:
        """Return the steps of a shard in a round, the ``place``-th of all these."""
        if self.model.n_steps is None:
            return default_n_triplets(n_rows, at_least=1)
        n, in_all = self.model.n_steps, N_ROUNDS * len(self.parts)
        return max(1, n * (place + 1) // in_all - n * place // in_all)


def deal(labels: np.ndarray, rows: np.ndarray, n_shards: int, random: np.random.Generator) -> list[np.ndarray]:
    """Return random parts of some rows, in order: as many as there are triplets in each."""
    n_shards = max(1, min(n_shards, len(rows) // FEWEST_ROWS))
    while True:
        parts = [np.sort(part) for part in np.array_split(random.permutation(rows), n_shards)]
        if n_shards == 1 or all(has_triplets(labels[part]) for part in parts):
            return parts
        n_shards //= 2


def has_triplets(labels: np.ndarray) -> bool:
    """Whether there are two classes, and one of them has two members."""
    sizes = np.unique(labels, return_counts=True)[1]
    return len(sizes) > 1 and bool((sizes > 1).any())


def for_workers(model: Any) -> Any:
    """Return a copy of an estimator without what is for the client alone."""
    sent = copy(model)
    sent.callback, sent.verbose = None, False
    return sent


def make_shard(tables: list[Any], labels: np.ndarray) -> RowShard:
    """Return a shard of the rows of some tables."""
    return RowShard(stack(tables), labels)


def find_start(model: Any, shard: RowShard, seed: int) -> Any:
    """Return the model with start, standardization and step size found by a shard."""
    model, random = copy(model), np.random.default_rng(seed)
    with model._stream_monitor() as monitor:
        sampler = model._label_sampler(shard.labels, random)
        _, started = model._first_model(shard.table, shard.labels, sampler, random, monitor)
    model._set_factors(started.factors)
    return model


def prepare(started: Any, shard: RowShard) -> RowShard:
    """Return a shard with rows as they are learned from."""
    return shard._replace(table=started._prepared(shard.table))


def learn_shard(
    started: Any, shard: RowShard, common: Common, seed: int, n_steps: int, n_taken: int, seconds: float | None
) -> Learned:
    """Return what a shard learns from common factors, within a time."""
    model = copy(started)
    model.n_steps_, model.max_seconds = n_taken, seconds
    model._set_factors(tuple(factor.copy() for factor in common.factors))
    sampler = model._label_sampler(shard.labels, np.random.default_rng(seed))
    stream = TripletStream(sampler, model.learning_rate_, n_steps, n_taken)
    with model._stream_monitor(n_steps) as monitor:
        model._learn(model._resume(shard.table), stream, monitor, history=[])
    loss = float(np.mean([record["loss"] for record in model.history_]))
    return Learned(factors_of(model).factors, loss, model.n_steps_ - n_taken)


def factors_of(model: Any) -> Common:
    """Return the learned factors of an estimator."""
    names = [name for name in ("query_components_", "components_") if hasattr(model, name)]
    return Common(tuple(getattr(model, name).T for name in names))
