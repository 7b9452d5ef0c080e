"""
Digits in the plane
===================

Handwritten digits as 64 grey values each, and a projection into two dimensions that is learned from labels: what
has the same label shall be nearer than what has not. Shown are images that the projection has not seen, beside the
projection that keeps most of the variance, which knows nothing of labels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from nearer import LowRankSimilarity
from nearer.metrics import mean_average_precision

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X / 16, y, test_size=0.4, stratify=y, random_state=0)

# %%
# With a loss of distances the model is a Mahalanobis distance of low rank. Triplets are drawn from the labels as
# it learns, with digits of another kind that are close to the anchor, and the step size is found on a first slice
# of them.

model = LowRankSimilarity(rank=2, loss="tste", n_steps=200_000, random_state=0).fit(train, y_train)
print(f"{model.n_steps_:,} steps of size {model.learning_rate_:.2g}, {model.history_[-1]['seconds']:.1f} seconds")

# %%
# How well do two dimensions find the same digit? Each test image is a query among the others.

projections = {"most variance": PCA(2).fit(train), "learned from labels": model}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for axis, (name, projection) in zip(axes, projections.items(), strict=True):
    points = projection.transform(test)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    print(f"mean average precision, {name}: {mean_average_precision(-distances, y_test):.2f}")
    axis.set_title(name)
    axis.set_axis_off()
    for digit in range(10):
        axis.scatter(*points[y_test == digit].T, s=9, color=f"C{digit}", label=str(digit))
        axis.annotate(str(digit), points[y_test == digit].mean(axis=0), fontsize=14, ha="center", va="center")
plt.show()
