"""
Your own loss
=============

A loss is a small object in plain Python with three functions of two squared distances: its value, its
derivatives, and the probability of the answer. It is compiled on first use and then runs as fast as the built-in
ones.

This one is robust: the more an answer is violated, the smaller the slope, since the answer is probably wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from nearer import OrdinalEmbedding
from nearer.losses import GNMDS, ops
from nearer.simulate import comparisons_from_points, flip


class LogHinge:
    """The logarithm of the hinge of the margin."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def value(self, near, far):
        """Return the loss."""
        violation = ops.maximum(0.0, 1.0 + near - far)
        return self.scale * ops.log1p(violation / self.scale)

    def slopes(self, near, far):
        """Return the derivatives with respect to near and far."""
        violation = ops.maximum(0.0, 1.0 + near - far)
        slope = ops.where(violation > 0.0, self.scale / (self.scale + violation), 0.0)
        return slope, -slope

    def probability(self, near, far):
        """Return the logistic function of the difference."""
        return 1.0 / (1.0 + ops.exp(near - far))


# %%
# The same source runs on numpy arrays, so it can be plotted before it is compiled.

difference = np.linspace(-2, 6, 200)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for loss, label in ((GNMDS(), "hinge"), (LogHinge(1.0), "log hinge, scale 1"), (LogHinge(3.0), "scale 3")):
    axes.plot(difference, loss.value(near=difference + 5, far=5.0), label=label)
axes.set_xlabel("near minus far squared distance")
axes.set_ylabel("loss")
axes.legend(frameon=False)

# %%
# It can be used wherever a loss is a parameter.

points = np.random.default_rng(0).normal(size=(50, 2))
answers = comparisons_from_points(points, 4000, noise=flip(0.1), random_state=0)
train, test = answers.split(0.2, random_state=0)
for loss in (GNMDS(), LogHinge(1.0)):
    model = OrdinalEmbedding(2, loss=loss, random_state=0).fit(train)
    print(f"{type(loss).__name__:<10} {model.score(test):.3f} of the held-out answers, a tenth of which are wrong")
