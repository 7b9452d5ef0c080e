"""Everything that is measured, in order: `make bench`, or `python benchmarks/run.py steps start_up` for some.

Takes about an hour, most of it cblearn's. Real answers need NEARER_DATA; without it that question is passed over.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUESTIONS = ("start_up", "steps", "speed_against_cblearn", "real_answers")
ONE_CORE = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def main() -> None:
    for question in sys.argv[1:] or QUESTIONS:
        if question == "real_answers" and not os.environ.get("NEARER_DATA"):
            print("real_answers: passed over, NEARER_DATA is not set")
            continue
        subprocess.run([sys.executable, HERE / f"{question}.py"], check=True, env={**os.environ, **ONE_CORE})


if __name__ == "__main__":
    main()
