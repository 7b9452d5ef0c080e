"""Everything that is measured, in order: `make bench`, or `python benchmarks/run.py steps start_up` for some.

Takes about three hours, most of it the peers'. Real data need NEARER_DATA; without it they are passed
over.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUESTIONS = (
    "start_up",
    "steps",
    "threads",
    "erkle_speed",
    "convex",
    "speed_against_cblearn",
    "speed_as_typed",
    "default_quality",
    "held_out_coverage",
    "how_many_answers",
    "real_answers",
    "streams",
    "metrics_against_metric_learn",
    "sdca_steps",
    "loreta_steps",
    "loreta_against_pymanopt",
    "loreta_warp",
    "low_rank_people",
    "cluster_maps",
    "cluster_similarity",
    "cluster_averaging",
)
NEED_DATA = (
    "speed_as_typed",
    "real_answers",
    "streams",
    "metrics_against_metric_learn",
    "low_rank_people",
    "cluster_similarity",
    "cluster_averaging",
)
ONE_CORE = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def main() -> None:
    for question in sys.argv[1:] or QUESTIONS:
        if question in NEED_DATA and not os.environ.get("NEARER_DATA"):
            print(f"{question}: passed over, NEARER_DATA is not set")
            continue
        subprocess.run([sys.executable, HERE / f"{question}.py"], check=True, env={**os.environ, **ONE_CORE})


if __name__ == "__main__":
    main()
