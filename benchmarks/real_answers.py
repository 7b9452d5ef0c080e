"""Held-out error on people's answers: nearer's default and each of its losses beside cblearn's five methods.

Ten splits by answer, the same for both sides. cblearn's errors are those that cblearn_real_answers.py left in its
record; a split or method missing there is left out and counted. "Best peer" is the method with the lowest mean on
these very test parts: nobody could have known it beforehand, so it flatters the peer. The defaults of nearer were
settled on simulated answers and with a look at the first splits of music, cars and food73.
"""

import sys
import time

import numpy as np

import real_data
from cblearn_record import peers_errors
from nearer import Comparisons, OrdinalEmbedding
from record import write

SIDES = {"default": {}} | {name: {"loss": name} for name in ("tste", "ste", "ckl", "gnmds", "soe")}
QUESTION = "Held-out error on people's answers, ten splits by answer"


def main() -> None:
    peers, rows = peers_errors(), []
    for name in sys.argv[1:] or real_data.DATASETS:
        answers = real_data.DATASETS[name]()
        for dims in (2, 5):
            for side, how in SIDES.items():
                rows.append(compared(answers, dims, side, how, peers))
                write("real_answers", QUESTION, rows)


def compared(answers, dims, side, how, peers) -> dict:
    errors, seconds = [], []
    for split in real_data.SPLITS:
        train, test = parts(answers, split)
        begun = time.perf_counter()
        model = OrdinalEmbedding(dims, **how, random_state=split).fit(train)
        seconds.append(time.perf_counter() - begun)
        errors.append(1.0 - model.score(test))
    row = {
        "set": answers.name,
        "dims": dims,
        "nearer": side,
        "error": float(np.mean(errors)),
        "standard error": standard_error(errors),
        "seconds a fit": float(np.mean(seconds)),
    }
    found = {method: values for (name, d, method), values in peers.items() if (name, d) == (answers.name, dims)}
    if not found:
        return row
    best = min(found, key=lambda method: np.mean(list(found[method].values())))
    paired = [errors[split] - error for split, error in found[best].items()]
    return row | {
        "best peer": best,
        "its error": float(np.mean(list(found[best].values()))),
        "its splits": len(paired),
        "difference": float(np.mean(paired)),
        "its standard error": standard_error(paired) if len(paired) > 1 else None,
    }


def parts(answers, split) -> tuple[Comparisons, Comparisons]:
    """Return the split's training and test parts with their answers, as the peers got them."""
    everything = Comparisons(answers.rows.astype(np.int32), n_objects=answers.n_objects, answers=answers.answers)
    return everything[answers.is_learned(split)], everything[answers.is_held_out(split)]


def standard_error(values) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    main()
