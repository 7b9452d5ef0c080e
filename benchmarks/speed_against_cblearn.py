"""How long until nearer's map is as good as cblearn's ends up: time to the peer's own final held-out error.

For each size and loss cblearn fits with its defaults in its own environment, and its final held-out error is the
target. On our side the number of epochs to the target is found first; then whole fits of that many epochs are
timed (warm, best of five), with everything a fit does. Two ways: "default start" is the estimator as it is, which
unfolds the map in a few more dimensions first; "random start" gives the solver small random points instead. These
answers have no errors, so the ridge is 0. Then, from the default start, the error after convergence.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import peer_environment
import synthetic
from nearer import Comparisons, OrdinalEmbedding
from nearer.metrics import triplet_error
from record import best_of, rows_of, write

METHODS = {"STE": "ste", "TSTE": "tste", "CKL": "ckl", "GNMDS": "gnmds", "SOE": "soe"}
MOST_EPOCHS = 150
QUESTION = "Seconds until nearer's held-out error is that of cblearn's finished fit, one core"


def main() -> None:
    warnings.simplefilter("ignore")
    python = peer_environment.build()
    for cell in [synthetic.CELLS[name] for name in sys.argv[1:] or synthetic.CELLS]:
        rows = [row for row in rows_of("speed_against_cblearn") if row["objects"] != cell.n_objects]
        train, test = synthetic.load(cell)
        train = Comparisons(train, n_objects=cell.n_objects)
        peers = {method: peer(python, cell, method) for method in METHODS}
        best = min(record["error"] for record in peers.values())
        for method, record in peers.items():
            rows.append(measured(cell, method, record, train, test, best))
            write("speed_against_cblearn", QUESTION, sorted(rows, key=lambda row: row["objects"]))


def peer(python, cell, method) -> dict:
    """Run cblearn: the best of five fits where they are short, one where they are long."""
    job = str(synthetic.write_job(cell, method))
    first = run_peer(python, [job])
    if first[0]["seconds"] < 3:
        first += run_peer(python, [job] * 4)
    record = first[0]
    return {**record, "seconds": min(r["seconds"] for r in first), "fits": len(first)}


def run_peer(python, jobs) -> list[dict]:
    script = str(peer_environment.HERE / "cblearn_peer.py")
    done = subprocess.run([python, script, *jobs], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(cell, method, record, train, test, best_peer_error) -> dict:
    how = {"n_components": cell.dims, "loss": METHODS[method], "regularization": 0.0, "random_state": 0}
    start = 0.1 * np.random.default_rng(12345).standard_normal((cell.n_objects, cell.dims))
    OrdinalEmbedding(**how, max_iter=1).fit(train)
    row = {
        "objects": cell.n_objects,
        "dims": cell.dims,
        "triplets": cell.n_train,
        "loss": method,
        "cblearn seconds": record["seconds"],
        "cblearn fits timed": record["fits"],
        "cblearn error": record["error"],
        "seconds to compile, once a machine": compiling(METHODS[method], cell.dims),
    }
    for name, extra in (("random start", {"init": start}), ("default start", {})):
        epochs = epochs_to(record["error"], {**how, **extra}, train, test)
        if epochs is None:
            row |= {f"{name} epochs": None, f"{name} seconds": None, f"{name} times faster": None}
            continue
        model = OrdinalEmbedding(**how, **extra, max_iter=max(epochs, 1), tol=0.0)
        seconds = best_of(5, lambda model=model: model.fit(train))
        row |= {
            f"{name} epochs": epochs,
            f"{name} seconds": seconds,
            f"{name} times faster": record["seconds"] / seconds,
        }
    model = OrdinalEmbedding(**how)
    row["seconds to convergence"] = best_of(1, lambda: model.fit(train))
    row["error after convergence"] = triplet_error(model.embedding_, test)
    row["above cblearn's best loss"] = row["error after convergence"] - best_peer_error
    return row


def compiling(loss, dims) -> float:
    """Return how much longer a first fit takes with an empty cache of compiled loops than a second one."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NEARER_CACHE": folder}
        command = [sys.executable, "-W", "ignore", "-c", FIRST_FITS, loss, str(dims)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


FIRST_FITS = """
import sys, time
import numpy as np
from nearer import OrdinalEmbedding
rows = np.array([np.random.default_rng(i).choice(50, 3, replace=False) for i in range(500)])
seconds = []
for _ in range(2):
    begun = time.perf_counter()
    OrdinalEmbedding(int(sys.argv[2]), sys.argv[1], regularization=0.0, max_iter=2, random_state=0).fit(rows)
    seconds.append(time.perf_counter() - begun)
print(seconds[0] - seconds[1])
"""


def epochs_to(target, how, train, test) -> int | None:
    """Return the first epoch whose points are as good as the target."""
    reached = []

    def watch(record) -> bool:
        if triplet_error(record["points"], test) <= target:
            reached.append(record["iteration"])
        return bool(reached)

    OrdinalEmbedding(**how, max_iter=MOST_EPOCHS, tol=0.0, callback=watch).fit(train)
    return reached[0] if reached else None


if __name__ == "__main__":
    main()
