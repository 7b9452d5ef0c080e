"""How good a map gets with so many answers per object, in a survey as `nearer questions` draws it.

Points are drawn from a normal distribution, the questions by `random_questions`, and 15 % of the answers are wrong. The
map has the defaults and the dimensions of the points. It is judged by 20,000 new questions, answered without errors.
"""

import numpy as np

from nearer import OrdinalEmbedding
from nearer.metrics import triplet_error
from nearer.simulate import answer_questions, comparisons_from_points, flip, random_questions
from record import write

ERRORS, STUDIES, TEST = 0.15, 5, 20_000
PER_OBJECT = (5, 10, 20, 40, 80)


def accuracy(n_objects: int, dims: int, per_object: int, seed: int) -> float:
    """Return the share of new questions that a map answers rightly."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(n_objects, dims))
    questions = random_questions(n_objects, per_object * n_objects, balanced=True, random_state=random)
    answers = answer_questions(questions, points, noise=flip(ERRORS), random_state=random)
    model = OrdinalEmbedding(dims, random_state=seed).fit(answers)
    return 1 - triplet_error(model.embedding_, comparisons_from_points(points, TEST, random_state=random))


def main() -> None:
    rows = []
    for dims in (2, 5):
        for n_objects in (20, 50, 100):
            row: dict = {"objects": n_objects, "dimensions": dims}
            for per_object in PER_OBJECT:
                made = [accuracy(n_objects, dims, per_object, seed) for seed in range(STUDIES)]
                row[f"{per_object} answers per object"] = f"{100 * np.mean(made):.0f} %"
            rows.append(row)
            print(row, flush=True)
    question = (
        "Share of new questions that a map answers rightly, by answers per object (15 % of the answers wrong)"
    )
    write("how_many_answers", question, rows)


if __name__ == "__main__":
    main()
