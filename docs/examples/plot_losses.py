"""
Five losses, with and without errors
====================================

Which loss is best depends on the answers. Here the answers about forty points are simulated twice: without
errors, and with errors where the two distances are close. Each loss learns a map from either. The bars show the
share of held-out answers, all of them correct, that the map predicts wrongly.
"""

import matplotlib.pyplot as plt
import numpy as np

from nearer import OrdinalEmbedding
from nearer.losses import LOSSES
from nearer.metrics import triplet_error
from nearer.simulate import comparisons_from_points, student

points = np.random.default_rng(0).normal(size=(40, 2))
held_out = comparisons_from_points(points, 20_000, random_state=1)
data = {
    "no errors": comparisons_from_points(points, 3000, random_state=2),
    "errors if distances are close": comparisons_from_points(points, 3000, noise=student(3.0), random_state=2),
}

# %%
# The regularization is automatic, except that answers without errors need none. Without it, the loss keeps falling
# slowly as the map grows, so we stop a little earlier than by default.

errors = {}
for name, answers in data.items():
    ridge = 0.0 if name == "no errors" else "auto"
    for loss in LOSSES:
        model = OrdinalEmbedding(2, loss=loss, regularization=ridge, tol=1e-4, random_state=0).fit(answers)
        errors[name, loss] = triplet_error(model.embedding_, held_out)

# %%
# The bars are errors of the map, not of the answers: with enough answers, their errors average out.

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for shift, name in zip((-0.2, 0.2), data, strict=True):
    axes.bar(np.arange(len(LOSSES)) + shift, [100 * errors[name, loss] for loss in LOSSES], 0.4, label=name)
axes.set_xticks(range(len(LOSSES)), LOSSES)
axes.set_ylabel("held-out answers predicted wrongly, %")
axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
