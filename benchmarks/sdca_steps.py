"""What one step of SDCA costs: against Algorithm 1 typed in numpy, against memory, and on text.

The limit: a step as printed reads a matrix of d² numbers once to score its triplet, and reads and writes it once
more to change it. For a large matrix that is bound by memory, whatever the arithmetic; a rank-one update by BLAS
is its second half. Ours goes by blocks of steps with the same iterates, so it can be below. On sparse rows a step
touches only as many entries as x has times those of x⁺ - x⁻.
"""

import numpy as np
from scipy.linalg.blas import dger
from scipy.sparse import csr_array

from nearer.datasets import SOURCES, load_newsgroups_counts
from nearer.similarity.sdca import Ascent
from nearer.similarity.triplets import Triplets
from nearer.simulate import comparisons_from_labels
from record import best_of, write

REGULARIZATION = 0.01


def printed(X, rows, regularization, alpha, M, steps, random):
    """Algorithm 1, line by line, without the Θᵢ = αᵢXᵢ that nothing reads."""
    n = len(rows)
    for _ in range(steps):
        i = random.integers(n)
        a, b, c = rows[i]
        x, z = X[a], X[b] - X[c]
        change = (1 - x @ M @ z - alpha[i] / 2) / (0.5 + (x @ x) * (z @ z) / (regularization * n))
        change = max(change, -alpha[i])
        alpha[i] += change
        M += change / (regularization * n) * np.outer(x, z)


def simulated(dims: int, size: int) -> Triplets:
    """Return triplets of ten clouds in many dimensions."""
    random = np.random.default_rng(0)
    labels = np.arange(1_000) % 10
    X = random.normal(size=(10, dims))[labels] + random.normal(size=(1_000, dims))
    X /= np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    return Triplets(X, comparisons_from_labels(labels, size, random).rows)


def against_printed() -> list[dict]:
    """Time ten passes from the start, where most triplets ask for a change, and ten late ones, where many do not.

    As printed, a step costs the same whatever it changes.
    """
    rows = []
    for dims, few in ((20, 20_000), (300, 2_000)):
        triplets = simulated(dims, 10_000)
        n, steps = len(triplets), 10 * len(triplets)
        alpha, matrix = np.zeros(n), np.zeros((dims, dims))
        printed(triplets.X, triplets.rows, REGULARIZATION, alpha, matrix, few, np.random.default_rng(1))
        random = np.random.default_rng(1)
        same = Ascent(triplets, REGULARIZATION)
        same.ascend(np.array([random.integers(n) for _ in range(few)]))
        difference = float(abs(same.matrix - matrix).max() / abs(matrix).max())

        late = Ascent(triplets, REGULARIZATION)
        late.ascend(random.integers(n, size=90 * n, dtype=np.int32))

        def from_the_start(triplets=triplets, random=random, n=n, steps=steps) -> None:
            Ascent(triplets, REGULARIZATION).ascend(random.integers(n, size=steps, dtype=np.int32))

        def later(late=late, random=random, n=n, steps=steps) -> None:
            late.ascend(random.integers(n, size=steps, dtype=np.int32))

        def as_printed(triplets=triplets, random=random, n=n, dims=dims, few=few) -> None:
            alpha, matrix = np.zeros(n), np.zeros((dims, dims))
            printed(triplets.X, triplets.rows, REGULARIZATION, alpha, matrix, few, random)

        times = 10 if dims > 100 else 100  # short runs are repeated until slow moments of the machine have passed
        literal = best_of(min(times, 30), as_printed) / few
        for when, run in (("the first ten", from_the_start), ("after ninety", later)):
            step = best_of(2 * times, run) / steps
            rows.append(
                {
                    "dims": dims,
                    "passes": when,
                    "step us": step * 1e6,
                    "steps a second": 1 / step,
                    "as printed, numpy us": literal * 1e6,
                    "speed-up": literal / step,
                    "largest difference, share": difference,
                }
            )
    return rows


def against_memory(dims: int = 1_000, steps: int = 6_400) -> list[dict]:
    triplets = simulated(dims, 10_000)
    random = np.random.default_rng(1)
    ascent = Ascent(triplets, REGULARIZATION)
    ours = best_of(5, lambda: ascent.ascend(random.integers(len(triplets), size=steps, dtype=np.int32))) / steps
    matrix = np.asfortranarray(random.normal(size=(dims, dims)))
    x, z = random.normal(size=(2, dims))
    target = np.empty_like(matrix)
    assert np.shares_memory(dger(1e-9, x, z, a=matrix, overwrite_a=1), matrix)  # in place, or nothing is measured
    update = best_of(300, lambda: dger(1e-9, x, z, a=matrix, overwrite_a=1))
    copy = best_of(300, lambda: np.copyto(target, matrix))
    alpha, free = np.zeros(len(triplets)), np.zeros((dims, dims))
    literal = (
        best_of(5, lambda: printed(triplets.X, triplets.rows, REGULARIZATION, alpha, free, 100, random)) / 100
    )
    measured = {
        "a step, by blocks of 64": ours,
        "one rank-one update, BLAS in place": update,
        "the matrix read once and written once": copy,
        "a step as printed, numpy": literal,
    }
    return [
        {"dims": dims, "what": what, "us": seconds * 1e6, "a step of ours over it": ours / seconds}
        for what, seconds in measured.items()
    ]


def text(n_terms: int = 20_000, n_documents: int = 300) -> tuple[csr_array, np.ndarray]:
    """Return tf-idf rows of unit length of some training documents, over the most frequent terms, and groups."""
    newsgroups = load_newsgroups_counts()
    counts, labels = newsgroups.X[~newsgroups.is_test], newsgroups.y[~newsgroups.is_test]
    occurs = np.bincount(counts.indices, minlength=counts.shape[1])
    terms = np.sort(np.argsort(-occurs, kind="stable")[:n_terms])
    some = np.random.default_rng(0).choice(len(labels), n_documents, replace=False)
    rows = csr_array(counts[some][:, terms])
    rows.data *= np.log(counts.shape[0] / occurs[terms])[rows.indices]
    rows.data /= np.repeat(np.sqrt(rows.multiply(rows).sum(axis=1)), np.diff(rows.indptr))
    rows.sort_indices()
    return rows, labels[some]


def sparse_against_dense(n_dense: int = 128, n_sparse: int = 10_000) -> list[dict]:
    """The same steps on the same rows, once as CSR and once as a dense table; the matrix takes 3.2 GB."""
    X, labels = text()
    triplets = comparisons_from_labels(labels, 10_000, 0).rows
    picks = np.random.default_rng(1).integers(len(triplets), size=n_sparse, dtype=np.int32)
    ascent = Ascent(Triplets(X, triplets), REGULARIZATION)
    ascent.ascend(picks)  # touches the pages of the matrix and compiles
    sparse = best_of(5, lambda: ascent.ascend(picks)) / n_sparse
    del ascent
    ascent = Ascent(Triplets(X, triplets), REGULARIZATION)
    ascent.ascend(picks[:n_dense])
    terms = np.unique(X.indices)  # nothing else can be other than 0
    wanted, alpha = ascent.matrix[np.ix_(terms, terms)], ascent.alpha
    del ascent
    ascent = Ascent(Triplets(X.toarray(), triplets), REGULARIZATION)
    ascent.ascend(picks[:64])  # again the pages
    dense = best_of(1, lambda: ascent.ascend(picks[64:n_dense])) / (n_dense - 64)
    difference = float(abs(ascent.matrix[np.ix_(terms, terms)] - wanted).max())
    dual_difference = float(abs(ascent.alpha - alpha).max())
    elsewhere = np.delete(np.arange(X.shape[1]), terms)
    assert not ascent.matrix[elsewhere].any()
    assert not ascent.matrix[:, elsewhere].any()
    assert difference < 1e-8
    row = {
        "documents": X.shape[0],
        "terms": X.shape[1],
        "entries a row": X.nnz / X.shape[0],
        "CSR step us": sparse * 1e6,
        "dense step us": dense * 1e6,
        "speed-up": dense / sparse,
    }
    return [{**row, "largest difference, M": difference, "largest difference, dual": dual_difference}]


def main() -> None:
    write("sdca_against_printed", "A step of SDCA against Algorithm 1 typed in numpy", against_printed())
    write("sdca_against_memory", "A step of SDCA against memory", against_memory())
    if SOURCES["newsgroups-counts"].find():
        write("sdca_text", "A step of SDCA on 20 Newsgroups, as CSR and dense", sparse_against_dense())
    else:
        print("steps on text: passed over, the data set newsgroups-counts is not here")


if __name__ == "__main__":
    main()
