"""Whether low-rank learners keep their quality if shards of the rows are learned apart and the models averaged.

`LowRankSimilarity`: fits with defaults, as typed, of the same rows in memory and as Dask arrays, judged on letter and
newsgroups by the mean average precision of held-out objects as queries against each other.

`LabelRanker`, which therefore refuses Dask collections: in a round every shard goes on from the common model with
``partial_fit`` over its own rows, and the average of the products of the factors, cut to their rank by an SVD, is the
next common model. "One process" takes the same shards one after another; start and step size are those of the first
shard in both cases. It is judged on corel5k by the mAP of label rankings. All learn from 80 % of the rows.
"""

import copy
import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from nearer import LabelRanker, LowRankSimilarity, datasets
from nearer.metrics import average_precisions, label_ranking_map
from nearer.similarity.low_rank.averaging import average_products
from record import write

N_SHARDS, N_ROUNDS, N_SPLITS = (2, 8), 4, 5
MAX_JUDGED, N_TERMS = 2_000, 2_000


def average_rankers(models):
    model = models[0]
    A, B = average_products(
        [(one.label_factors_, np.vstack([one.feature_factors_, one.intercept_factors_])) for one in models]
    )
    model.label_factors_, model.feature_factors_ = np.ascontiguousarray(A), np.ascontiguousarray(B[:-1])
    model.intercept_factors_ = B[-1].copy()
    model.intercept_ = A @ (model.constant_ * model.intercept_factors_)
    model.label_counts_ = np.sum([one.label_counts_ for one in models], axis=0)
    return model


def judge_similarity(model, X, y):
    objects = normalize(np.asarray(model.transform(X)))
    precisions = average_precisions(objects @ objects.T, y)
    return float(np.nanmean(precisions))


def judge_ranker(model, X, Y):
    return float(label_ranking_map(model.decision_function(X), Y))


def split(n, seed):
    """Return rows to learn from, and rows to judge by."""
    learned, held_out = np.split(np.random.default_rng(seed).permutation(n), [round(0.8 * n)])
    return learned, held_out[:MAX_JUDGED]


def fit_both(make, data, n_shards, seed):
    """Return the score of a fit in memory, and of a fit of Dask arrays to as many shards."""
    import dask.array
    from dask import delayed
    from distributed import Client, LocalCluster

    X, y = data
    learned, held_out = split(X.shape[0], seed)
    X_learned, y_learned = X[learned], y[learned]
    parts = np.array_split(np.arange(len(learned)), 8)
    blocks = [
        dask.array.from_delayed(
            delayed(X_learned[part]),
            (len(part), X.shape[1]),
            meta=X_learned[:0] if issparse(X) else None,
            dtype=float,
        )
        for part in parts
    ]
    memory = make(seed).fit(X_learned, y_learned)
    workers = {"n_workers": 1, "threads_per_worker": n_shards, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster):
        shards = make(seed).fit(dask.array.concatenate(blocks), y_learned)
    return [judge_similarity(model, X[held_out], y[held_out]) for model in (memory, shards)]


def learn(make, average, judge, data, n_shards, seed):
    """Return the score after each round of one process and of the averaged models."""
    X, y = data
    learned, held_out = split(X.shape[0], seed)
    shards = np.array_split(learned, n_shards)
    first = make(seed).partial_fit(X[shards[0]], y[shards[0]])
    one, common = copy.deepcopy(first), first
    scores = {"start": judge(first, X[held_out], y[held_out]), "one": [], "averaged": []}
    for number in range(N_ROUNDS):
        for shard in shards:
            one.partial_fit(X[shard], y[shard])
        copies = [copy.deepcopy(common) for _ in shards]
        for place, (model, shard) in enumerate(zip(copies, shards, strict=True)):
            model.random_state = 1_000 * number + place + 1
            model.partial_fit(X[shard], y[shard])
        common = average(copies)
        scores["one"].append(judge(one, X[held_out], y[held_out]))
        scores["averaged"].append(judge(common, X[held_out], y[held_out]))
    return scores


def newsgroups():
    news = datasets.load_newsgroups_counts()
    counts = np.bincount(news.X.indices, minlength=news.X.shape[1])
    terms = np.sort(np.argsort(-counts, kind="stable")[:N_TERMS])
    X = news.X[:, terms].astype(float)
    X.data = np.log1p(X.data) * np.log(X.shape[0] / counts[terms])[X.indices]
    keep = np.diff(X.indptr) > 0
    return normalize(X[keep]).tocsr(), news.y[keep]


def letter():
    return datasets.load_letter()[:2]


SIMILARITIES = (
    ("letter", "LowRankSimilarity()", letter, lambda seed: LowRankSimilarity(random_state=seed)),
    ("newsgroups", "LowRankSimilarity(50)", newsgroups, lambda seed: LowRankSimilarity(50, random_state=seed)),
)
RANKERS = (
    ("corel5k", "LabelRanker(50)", lambda seed: LabelRanker(50, random_state=seed)),
    ("corel5k", 'LabelRanker(50, init="zero")', lambda seed: LabelRanker(50, init="zero", random_state=seed)),
)


def compare(one, averaged):
    """Return means, and what averaging loses with its standard error."""
    lost = np.subtract(one, averaged)
    error = float(lost.std(ddof=1) / np.sqrt(len(lost)))
    found = {"one process, mAP": float(np.mean(one)), "averaged, mAP": float(np.mean(averaged))}
    return found | {"lost by averaging": float(lost.mean()), "standard error": error, "splits": len(lost)}


def main() -> None:
    rows = []

    def measured(row):
        rows.append(row)
        print(row, flush=True)
        write("cluster_averaging", "Averaged factors of shards against one process", rows)

    warnings.simplefilter("ignore")
    for name, typed, load, make in SIMILARITIES:
        data = load()
        for n_shards in N_SHARDS:
            scores = np.array([fit_both(make, data, n_shards, seed) for seed in range(N_SPLITS)])
            measured({"data": name, "learner": typed, "shards": n_shards, **compare(*scores.T)})
    for name, typed, make in RANKERS:
        data = datasets.load_corel5k()[:2]
        for n_shards in N_SHARDS:
            runs = [learn(make, average_rankers, judge_ranker, data, n_shards, seed) for seed in range(N_SPLITS)]
            ends = [[run[what][-1] for run in runs] for what in ("one", "averaged")]
            measured({"data": name, "learner": typed, "shards": n_shards, **compare(*ends)})


if __name__ == "__main__":
    main()
