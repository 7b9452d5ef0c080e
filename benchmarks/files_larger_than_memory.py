"""Maps of comparisons in files that are larger than memory: seconds, and the memory of the process that fits.

Writes its data itself, as parquet files of planted points, to a temporary folder (TMPDIR; 6 GB, and 6 GB more while
a fit runs), in chunks. Each fit of all rows runs in a process of its own, whose peak of resident memory the system
counts. `--rows` takes fewer rows, for a machine with little time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from nearer import Comparisons, OrdinalEmbedding, scan
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.engines.files import FilesProblem
from nearer.losses import STE
from nearer.metrics import triplet_error
from record import best_of, write

NAME = "files_larger_than_memory"
N_OBJECTS, N_COMPONENTS, NOISE = 100_000, 10, 0.05
N_ROWS, N_COMPARED, N_FILES, CHUNK = 500_000_000, 50_000_000, 20, 1_000_000
N_TEST = 200_000
N_JOBS = 2
FIXED = {"loss": "ste", "regularization": 1e-3}


def planted() -> np.ndarray:
    """Return the points that all answers are about."""
    return np.random.default_rng(0).standard_normal((N_OBJECTS, N_COMPONENTS)).astype(np.float32)


def make_rows(points: np.ndarray, n_rows: int, noise: float, random: np.random.Generator) -> np.ndarray:
    """Return triplets that the points satisfy, but for a share that is the wrong way around."""
    rows = random.integers(N_OBJECTS, size=(n_rows, 3), dtype=np.int32)
    while True:
        same = (rows[:, 0] == rows[:, 1]) | (rows[:, 0] == rows[:, 2]) | (rows[:, 1] == rows[:, 2])
        if not same.any():
            break
        rows[same] = random.integers(N_OBJECTS, size=(int(same.sum()), 3), dtype=np.int32)
    anchor = points[rows[:, 0]]
    near, far = (np.square(anchor - points[rows[:, column]]).sum(axis=1) for column in (1, 2))
    wrong = (near > far) ^ (random.random(n_rows) < noise)
    rows[wrong] = rows[wrong][:, [0, 2, 1]]
    return rows


def make_files(folder: Path, n_rows: int) -> None:
    """Write the answers as parquet files, plain int32."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    points, random = planted(), np.random.default_rng(1)
    schema = pa.schema([(name, pa.int32()) for name in ("anchor", "near", "far")])
    for number in range(N_FILES):
        path = folder / f"answers-{number:03}.parquet"
        with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
            for _ in range(n_rows // N_FILES // CHUNK):
                rows = make_rows(points, CHUNK, NOISE, random)
                columns = [np.ascontiguousarray(column) for column in rows.T]
                file.write_table(pa.table(columns, schema=schema))


def fit(folder: str, parameters: dict) -> None:
    """Scan and fit in this process, and print what it took as JSON."""
    begun = time.perf_counter()
    source = scan(folder, n_objects=N_OBJECTS)
    scanned = time.perf_counter() - begun
    model = OrdinalEmbedding(N_COMPONENTS, n_jobs=N_JOBS, random_state=0, **parameters)
    begun = time.perf_counter()
    model.fit(source)
    seconds = time.perf_counter() - begun
    test = Comparisons(make_rows(planted(), N_TEST, 0.0, np.random.default_rng(2)), n_objects=N_OBJECTS)
    first, last = model.history_[0], model.history_[-1]
    evaluations = (last["gradient_evaluations"] - first["gradient_evaluations"]) / len(source)
    found = {
        "rows": len(source),
        "gigabytes": sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e9,
        "scan_seconds": scanned,
        "fit_seconds": seconds,
        "seconds_before_first_iteration": first["seconds"],
        "iterations": model.n_iter_,
        "gradient_evaluations": evaluations,
        "rows_per_second_of_gradient": evaluations * len(source) / (last["seconds"] - first["seconds"]),
        "loss": repr(model.loss_),
        "regularization": model.regularization_,
        "stop_reason": model.stop_reason_,
        "error_on_unseen_answers": triplet_error(model.embedding_, test),
        "peak_memory_gb": peak_memory(),
    }
    print(json.dumps(found))


def peak_memory() -> float:
    """Return the most gigabytes that this process has had; ru_maxrss also counts what its parent had."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e9


def fit_apart(folder: Path, **parameters: object) -> dict:
    """Fit in a fresh process and return what it printed."""
    command = [sys.executable, __file__, "--fit", str(folder), json.dumps(parameters)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare_with_memory(folder: Path, n_rows: int) -> list[dict]:
    """Return seconds of a gradient, of an epoch of SVRG and of a whole fit, of the same rows in memory and in files."""
    source = scan(sorted(folder.iterdir())[: max(1, N_FILES * n_rows // N_ROWS)], n_objects=N_OBJECTS)
    made = Comparisons.of(source)
    points = 0.1 * np.random.default_rng(3).standard_normal((N_OBJECTS, N_COMPONENTS))
    rows = []
    for where, problem_of in (("memory", CPUProblem), ("files", FilesProblem)):
        data = made if where == "memory" else source
        begun = time.perf_counter()
        with problem_of(data, STE(), 1e-3, N_JOBS, np.random.default_rng(0)) as problem:
            opened = time.perf_counter() - begun
            _, gradient = problem.value_and_gradient(points)
            steps = len(made) // N_JOBS
            epoch = partial(problem.svrg_run, points, gradient, 1e-9, steps)
            rows.append(
                {
                    "rows": len(made),
                    "where": where,
                    "seconds_to_open": opened,
                    "gradient_seconds": best_of(3, partial(problem.value_and_gradient, points)),
                    "svrg_epoch_seconds": best_of(2, epoch),
                    "energies_seconds": best_of(1, partial(problem.energies, points)),
                }
            )
        model = OrdinalEmbedding(N_COMPONENTS, n_jobs=N_JOBS, random_state=0, max_iter=20, **FIXED)
        rows[-1]["fit_seconds"] = best_of(1, partial(model.fit, data))
        rows[-1]["iterations"] = model.n_iter_
    return rows


def main() -> None:
    """Measure everything and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--iterations", type=int, default=20, help="of the fit with given loss and ridge")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of the fit with defaults")
    parser.add_argument("--folder", help="of files that are there already")
    parser.add_argument("--fit", nargs=2)
    arguments = parser.parse_args()
    if arguments.fit:
        fit(arguments.fit[0], json.loads(arguments.fit[1]))
        return
    question = "How fast, and in how much memory, are maps of comparisons fitted that are larger than memory?"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments.folder or made)
        if not arguments.folder:
            make_files(folder, arguments.rows)
        rows: list[dict] = compare_with_memory(folder, N_COMPARED)
        write(NAME, question, rows)
        for what, parameters in (
            ("given loss and ridge", {**FIXED, "max_iter": arguments.iterations}),
            ("defaults", {"max_seconds": arguments.seconds}),
        ):
            load = os.getloadavg()[0]
            found = fit_apart(folder, **parameters)
            rows.append({"what": f"fit with {what}", **parameters, "load_of_others": load, **found})
            write(NAME, question, rows)


if __name__ == "__main__":
    main()
