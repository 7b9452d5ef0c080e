"""
Five losses, with and without errors
====================================

Which loss suits depends on the answers. Here the same forty points are asked about by someone who is always
right and by someone who errs where distances are close, and every loss draws its map from either. The bars show
the share of unseen answers, all of them right, that the map gets wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from nearer import OrdinalEmbedding
from nearer.losses import LOSSES
from nearer.metrics import triplet_error
from nearer.simulate import comparisons_from_points, student

points = np.random.default_rng(0).normal(size=(40, 2))
unseen = comparisons_from_points(points, 20_000, random_state=1)
people = {
    "always right": comparisons_from_points(points, 3000, random_state=2),
    "errs on close calls": comparisons_from_points(points, 3000, noise=student(3.0), random_state=2),
}

# %%
# Each loss with the regularisation that it finds by itself, except that answers without errors need none. Their
# map can be made larger for ever at ever smaller gain, so we stop a little earlier than by default.

errors = {}
for who, answers in people.items():
    ridge = 0.0 if who == "always right" else "auto"
    for loss in LOSSES:
        model = OrdinalEmbedding(2, loss=loss, regularization=ridge, tol=1e-4, random_state=0).fit(answers)
        errors[who, loss] = triplet_error(model.embedding_, unseen)

# %%
# The scale is the error of the map, not of the people: with enough answers, errors in them average out.

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for shift, who in zip((-0.2, 0.2), people, strict=True):
    axes.bar(np.arange(len(LOSSES)) + shift, [100 * errors[who, loss] for loss in LOSSES], 0.4, label=who)
axes.set_xticks(range(len(LOSSES)), LOSSES)
axes.set_ylabel("unseen answers that are wrong, %")
axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
