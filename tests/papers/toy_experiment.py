"""An experiment without meaning, to test how experiments are run; as a script, it runs in a process to be killed."""

import os
import sys
import time
from pathlib import Path
from typing import ClassVar

from nearer.papers import Experiment, Verdict
from nearer.papers.run import run_experiment


class Squares(Experiment):
    """Squares of numbers.

    Each after a pause, so that there is time
    to interrupt it.

    Where <this> is silent, as printed.
    """

    name = "squares"
    title = "Squares & pauses"
    stand_in = "numbers below <20> replace all numbers"
    sizes: ClassVar = {
        "tiny": {"n": 3, "pause": 0.0},
        "quick": {"n": 20, "pause": 0.1},
        "full": {"n": 20, "pause": 0.0},
    }
    minutes: ClassVar = {"quick": 0.1, "full": 3.0}
    reduced = "fewer numbers than the paper's"

    def trials(self, n, pause):
        return [{"number": number, "pause": pause, "settings": [1, None]} for number in range(n)]

    def run(self, trial):
        with open(os.environ["TOY_LOG"], "a", encoding="utf-8") as log:
            print(trial["number"], file=log)
        time.sleep(trial["pause"])
        return {"square": trial["number"] ** 2, "root": trial["number"] ** 0.5}

    def table(self, results):
        return [{"number": trial["number"], "a|b": result["square"], "paper": None} for trial, result in results]

    def draw(self, figure, results):
        axes = figure.subplots()
        axes.plot([trial["number"] for trial, _ in results], [result["square"] for _, result in results])

    def verdicts(self, table, results):
        return [
            Verdict(
                "squares grow & grow", all(row["a|b"] >= row["number"] for row in table), f"{len(table)} <squares>"
            ),
            Verdict(
                "roots are whole", all(result["root"] % 1 == 0 for _, result in results), "root of 2", ours=True
            ),
            Verdict("all numbers", None, "not these"),
        ]


EXPERIMENTS = (Squares(),)

if __name__ == "__main__":
    if len(sys.argv) > 3:
        Squares.sizes["quick"]["pause"] = float(sys.argv[3])
    run_experiment("toy", Squares(), "quick", Path(sys.argv[1]), n_jobs=int(sys.argv[2]))
