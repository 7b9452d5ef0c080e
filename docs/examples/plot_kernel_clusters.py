"""
Clusters from answers
=====================

Two rings, one inside the other, are known only through answers about which points are nearer to each other.
``SpectralClustering`` finds the rings from the kernel that is learned from the answers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from nearer import ComparisonKernel
from nearer.simulate import comparisons_from_points

random = np.random.default_rng(0)
rings = np.repeat([0, 1], [30, 60])
angle = np.concatenate(
    [np.linspace(0, 2 * np.pi, 30, endpoint=False), np.linspace(0, 2 * np.pi, 60, endpoint=False)]
)
radius = np.where(rings, 2.5, 1.0) + 0.05 * random.normal(size=90)
hidden = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
answers = comparisons_from_points(hidden, 20_000, random_state=0)

model = ComparisonKernel(loss="ste", regularization=0.001).fit(answers)

# %%
# Spectral clustering needs affinities, which are never negative; inner products may be. A Gaussian of the kernel's
# distances is an affinity.

size = model.kernel_.diagonal()
squared = size + size[:, None] - 2 * model.kernel_
affinity = np.exp(-squared / (0.05 * np.median(squared)))
clusters = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(affinity)
print(f"adjusted Rand index with the rings: {adjusted_rand_score(rings, clusters):.2f}")

# %%
# The map of the kernel, colored by cluster.

figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
axes.scatter(*model.embed(2).T, c=clusters, cmap="coolwarm", s=20)
axes.set(aspect="equal", xticks=[], yticks=[])
