"""Whether low-rank learners keep their quality if shards of the rows are learned apart and the models averaged.

In a round every shard goes on from the common model with ``partial_fit`` over its own rows, and the average of the
products of the factors, cut to their rank by an SVD, is the next common model. (The factors themselves cannot be
averaged: an invertible matrix between the two leaves the product as it is, and shards end with different ones.)
"One process" takes the same shards one after another. Start, standardization and step size are those of the first
shard in both cases. `LowRankSimilarity` is judged on letter and newsgroups by the mean average precision of held-out
objects as queries against each other, `LabelRanker` on corel5k by that of label rankings, in two splits of 80 % to
learn from.
"""

import copy
import warnings

import numpy as np
from sklearn.preprocessing import normalize

from nearer import LabelRanker, LowRankSimilarity, datasets
from nearer.metrics import average_precisions, label_ranking_map
from nearer.similarity.low_rank.averaging import average_products
from record import write

N_SHARDS, N_ROUNDS, SPLITS = (2, 8), 4, range(2)
MAX_JUDGED, N_TERMS = 2_000, 2_000


def average_similarities(models):
    """Set the mean of the products of the first model."""
    (factor,) = average_products([(one.components_.T,) for one in models])
    models[0].components_ = np.ascontiguousarray(factor.T)
    return models[0]


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


def learn(make, average, judge, data, n_shards, seed):
    """Return the score after each round of one process and of the averaged models."""
    X, y = data
    order = np.random.default_rng(seed).permutation(X.shape[0])
    learned, held_out = np.split(order, [round(0.8 * len(order))])
    held_out = held_out[:MAX_JUDGED]
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


def corel5k():
    return datasets.load_corel5k()[:2]


def similarity(seed):
    return LowRankSimilarity(rank=10, random_state=seed)


def sparse_similarity(seed):
    return LowRankSimilarity(rank=50, init="svd", random_state=seed)


def ranker(seed):
    return LabelRanker(rank=50, random_state=seed)


def ranker_from_zero(seed):
    return LabelRanker(rank=50, init="zero", random_state=seed)


QUESTIONS = (
    ("letter", "LowRankSimilarity(rank=10)", letter, similarity, average_similarities, judge_similarity),
    ("newsgroups", 'LowRankSimilarity(rank=50, init="svd")', newsgroups, sparse_similarity,
     average_similarities, judge_similarity),
    ("corel5k", "LabelRanker(rank=50)", corel5k, ranker, average_rankers, judge_ranker),
    ("corel5k", 'LabelRanker(rank=50, init="zero")', corel5k, ranker_from_zero, average_rankers, judge_ranker),
)  # fmt: skip


def main() -> None:
    rows = []
    for name, typed, load, make, average, judge in QUESTIONS:
        data = load()
        for n_shards in N_SHARDS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runs = [learn(make, average, judge, data, n_shards, seed) for seed in SPLITS]
            one, averaged = (np.array([run[what] for run in runs]) for what in ("one", "averaged"))
            losses = one[:, -1] - averaged[:, -1]
            rows.append(
                {
                    "data": name,
                    "learner": typed,
                    "shards": n_shards,
                    "start": float(np.mean([run["start"] for run in runs])),
                    "one process, mAP per round": one.mean(axis=0).round(4).tolist(),
                    "averaged, mAP per round": averaged.mean(axis=0).round(4).tolist(),
                    "lost by averaging": float(losses.mean()),
                    "splits": len(SPLITS),
                    "standard error": float(losses.std(ddof=1) / np.sqrt(len(losses))),
                }
            )
            print(rows[-1], flush=True)
    write("cluster_averaging", "Averaged factors of shards against one process", rows)


if __name__ == "__main__":
    main()
