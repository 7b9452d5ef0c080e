"""
Digits in the plane
===================

Handwritten digits have 64 gray values each. A projection into two dimensions is learned from labels: images with
the same label should be nearer than others. The figure shows held-out images, beside the projection by PCA,
which ignores the labels.
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
# With a loss of two distances the model is a Mahalanobis distance of low rank. Triplets are drawn from the
# labels during the fit, with hard negatives, digits of other classes that are close to the anchor. The step size
# is chosen on a first part of them.

model = LowRankSimilarity(rank=2, loss="tste", n_steps=200_000, random_state=0).fit(train, y_train)
print(f"{model.n_steps_:,} steps of size {model.learning_rate_:.2g}, {model.history_[-1]['seconds']:.1f} seconds")

# %%
# Retrieval in two dimensions: each test image is a query among the others.

projections = {"PCA": PCA(2).fit(train), "learned from labels": model}
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
