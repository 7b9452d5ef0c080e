"""A model of what a gradient costs, checked against what was measured, and what it says of sizes that were not run.

Per triplet, three rows of the points are read and three rows of the gradient are read and written. On a core, the
arithmetic takes a fixed time, and a row that is not in the cache takes a time for the first line of 64 bytes and
another for each further one. A GPU moves bytes at the rate of its cache or of its memory; triplets are sorted by
anchor, so that two rows are left, and a launch takes a fixed time. In a round of a cluster, points go from the client by
the scheduler to a worker and from worker to worker, and gradients are summed on the same way back: as many transfers,
one after the other, as `hops` says, and a fixed latency. The constants, three of a core, two of a GPU and two of a
cluster, are set by as many of the measured sizes; the others are the check. Reads the records `gradient_cost`,
`gpu_gradient` and `cluster_rounds`.
"""

import numpy as np

from record import rows_of, write

LINE = 64
CORE_CACHE = 16e6  # bytes that a core has of the last cache, which two share
GPU_CACHE, GPU_LAUNCH = 60e6, 2e-4  # bytes and seconds
NETWORK = 1.25e9  # bytes per second between machines: ten gigabits
ROUND_SET = [10_000, 1_000_000]  # objects
CORE_SET = [(10_000, 10, "float64"), (1_000_000, 10, "float64"), (1_000_000, 32, "float64")]
GPU_SET = [(100_000, 10), (1_000_000, 32)]
SIZES = [
    (10**3, 2, 10**5),
    (10**4, 5, 5 * 10**6),
    (10**5, 10, 5 * 10**8),
    (10**6, 10, 10**9),
    (10**7, 10, 10**10),
    (10**8, 10, 10**11),
]
VECTORS = 26  # of the size of the points that L-BFGS needs: twenty of its memory, and those of a step


def size_of(dtype: str) -> int:
    return np.dtype(dtype).itemsize


def missing(n: int, d: int, dtype: str, cache: float) -> float:
    """Return the share of rows that are not in a cache."""
    return max(0.0, 1.0 - cache / (2 * n * d * size_of(dtype)))


def core_terms(n: int, d: int, dtype: str) -> np.ndarray:
    """Return what the constants of a core multiply: arithmetic, rows that are not in the cache, their further lines."""
    further = (d * size_of(dtype) - 1) / LINE  # a row begins anywhere in a line
    rows = 6 * missing(n, d, dtype, CORE_CACHE)
    return np.array([12 + d, rows, rows * further])


def gpu_terms(n: int, d: int) -> np.ndarray:
    """Return the bytes per triplet from the cache and from the memory of a GPU, in float32."""
    stride = 4 * -(-d // 4)
    moved, share = 8 + 6 * stride * 4, missing(n, stride, "float32", GPU_CACHE)
    return np.array([moved * (1 - share), moved * share])


def hops(n_workers: int) -> float:
    """Return the transfers of a round that wait for each other."""
    return 2 * (2 + np.log2(n_workers))


def round_terms(n: int, d: int, size: int, n_workers: int) -> np.ndarray:
    """Return what latency and seconds per byte multiply."""
    return np.array([1.0, hops(n_workers) * n * d * size])


def main() -> None:
    core = {(row["objects"], row["dims"], row["dtype"]): row["ns per triplet"] for row in rows_of("gradient_cost")}
    core_constants = np.linalg.solve([core_terms(*key) for key in CORE_SET], [core[key] for key in CORE_SET])
    gpu = {
        (row["n_objects"], row["d"]): 1e9 * row["seconds"] / row["triplets"] - 1e9 * GPU_LAUNCH / row["triplets"]
        for row in rows_of("gpu_gradient")
        if (row["by"], row["loss"], row["dtype"]) == ("nearer", "ste", "float32")
    }
    gpu_constants = np.linalg.solve([gpu_terms(*key) for key in GPU_SET], [gpu[key] for key in GPU_SET])
    rows = []
    for key, measured in core.items():
        model = float(core_terms(*key) @ core_constants)
        rows.append(
            {"on": "a core", "objects": key[0], "dims": key[1], "dtype": key[2]}
            | compare(measured, model, key in CORE_SET)
        )
    for key, measured in gpu.items():
        model = float(gpu_terms(*key) @ gpu_constants)
        rows.append(
            {"on": "H200", "objects": key[0], "dims": key[1], "dtype": "float32"}
            | compare(measured, model, key in GPU_SET)
        )
    rounds = {row["objects"]: row for row in rows_of("cluster_rounds")}
    terms = {n: round_terms(n, row["dims"], 8, row["workers"]) for n, row in rounds.items()}
    latency, per_byte = np.linalg.solve(
        [terms[n] for n in ROUND_SET], [rounds[n]["shortest s"] for n in ROUND_SET]
    )
    for n, row in rounds.items():
        model = float(terms[n] @ [latency, per_byte])
        rows.append(
            {"on": "a round of a cluster, seconds", "objects": n, "dims": row["dims"], "dtype": "float64"}
            | compare(row["shortest s"], model, n in ROUND_SET)
        )
    per_byte = max(per_byte, 1 / NETWORK)
    write(
        "cost_model",
        "The model of cost and what was measured: nanoseconds per triplet of a gradient, and seconds of rounds",
        rows,
    )
    sizes = []
    for n, d, m in SIZES:
        core_seconds = 1e-9 * m * float(core_terms(n, d, "float32") @ core_constants)
        points = 4 * n * d
        sizes.append({
            "objects": n,
            "dims": d,
            "answers": m,
            "GB of answers": 12 * m / 1e9,
            "GB of L-BFGS": VECTORS * points / 1e9,
            "seconds per gradient: a core": core_seconds,
            "an H200": GPU_LAUNCH + 1e-9 * m * float(gpu_terms(n, d) @ gpu_constants),
            "100 cores": core_seconds / 100,
            "a round of 100 workers": float(round_terms(n, d, 4, 100) @ [latency, per_byte]),
        })  # fmt: skip
    write("cost_sizes", "What the model says of a gradient in float32, up to 10^11 answers", sizes)


def compare(measured: float, model: float, is_set: bool) -> dict:
    """Return what was measured beside the model."""
    return {"measured": measured, "model": model, "measured / model": measured / model, "sets a constant": is_set}


if __name__ == "__main__":
    main()
