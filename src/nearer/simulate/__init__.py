"""Questions drawn at random, and answers simulated from known points, distances or labels.

For tests, benchmarks and planning of a survey: :mod:`~nearer.simulate.points` draws and answers questions,
:mod:`~nearer.simulate.noise` has the errors of simulated people, :mod:`~nearer.simulate.labels` triplets of classes.
"""

from nearer.simulate.labels import comparisons_from_labels, warn_of_single_members
from nearer.simulate.noise import Noise, flip, gaussian, logistic, student
from nearer.simulate.points import all_triplets, answer_questions, comparisons_from_points, random_questions

__all__ = [
    "Noise", "all_triplets", "answer_questions", "comparisons_from_labels", "comparisons_from_points", "flip",
    "gaussian", "logistic", "random_questions", "student", "warn_of_single_members",
]  # fmt: skip
