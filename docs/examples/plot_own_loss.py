"""
Your own loss
=============

A loss is a small object in plain Python: how badly an answer is met, given two squared distances, how that
changes with each, and how probable the answer is. It is compiled on first use and then runs like the built-in
ones.

This one forgives: beyond a certain shortfall an answer pulls less and less, as if it were probably a slip.
"""

import matplotlib.pyplot as plt
import numpy as np

from nearer import OrdinalEmbedding
from nearer.losses import GNMDS, ops
from nearer.simulate import comparisons_from_points, flip


class Forgiving:
    """The hinge of the margin, bent by a logarithm."""

    def __init__(self, patience=1.0):
        self.patience = patience

    def value(self, near, far):
        """Return how badly the answer is met."""
        short = ops.maximum(0.0, 1.0 + near - far)
        return self.patience * ops.log1p(short / self.patience)

    def slopes(self, near, far):
        """Return the derivatives with respect to near and far."""
        short = ops.maximum(0.0, 1.0 + near - far)
        slope = ops.where(short > 0.0, self.patience / (self.patience + short), 0.0)
        return slope, -slope

    def probability(self, near, far):
        """Return the logistic function of the difference."""
        return 1.0 / (1.0 + ops.exp(near - far))


# %%
# The same source runs on numpy arrays, so it can be looked at before it is compiled.

short = np.linspace(-2, 6, 200)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for loss, label in ((GNMDS(), "hinge"), (Forgiving(1.0), "forgiving, patience 1"), (Forgiving(3.0), "patience 3")):
    axes.plot(short, loss.value(near=short + 5, far=5.0), label=label)
axes.set_xlabel("near squared distance minus far one")
axes.set_ylabel("loss")
axes.legend(frameon=False)

# %%
# And it goes wherever a loss is asked for.

points = np.random.default_rng(0).normal(size=(50, 2))
answers = comparisons_from_points(points, 4000, noise=flip(0.1), random_state=0)
train, test = answers.split(0.2, random_state=0)
for loss in (GNMDS(), Forgiving(1.0)):
    model = OrdinalEmbedding(2, loss=loss, random_state=0).fit(train)
    print(f"{type(loss).__name__:<10} {model.score(test):.3f} of the unseen answers, a tenth of which are wrong")
