"""
A map of Europe from answers
============================

A map of Europe is learned from answers such as "Vienna is nearer to Prague than to Rome", without coordinates. We
simulate 8,000 answers, 5 % of them wrong, hold out a tenth to measure how well the map predicts, and align the map
with the true one.
"""

import matplotlib.pyplot as plt

from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import europe
from nearer.metrics import procrustes
from nearer.simulate import comparisons_from_points, flip

cities = europe()
simulated = comparisons_from_points(cities.points, 8000, noise=flip(0.05), random_state=0)
answers = Comparisons(simulated, names=cities.names)
train, test = answers.split(test_size=0.1, random_state=0)

# %%
# The estimator sees names and answers only, not the coordinates.

model = OrdinalEmbedding(n_components=2, random_state=0).fit(train)
print(f"{model.score(test):.1%} of the held-out answers")

# %%
# A map from answers has no orientation and no scale. Procrustes analysis translates, rotates, reflects and
# scales it to fit the true one; the disparity is the remaining squared difference, 0 for the same shape.

fit = procrustes(model.embedding_, cities.points)
print(f"disparity {fit.disparity:.4f}")

# %%
# Rings show the true positions of the cities. (``nearer.maps.write_map`` draws such a map with labels that do not
# overlap, as a picture or as an interactive page.)

figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
axes.plot(*cities.points.T, "o", mfc="none", mec="0.6", ms=5)
axes.plot(*fit.aligned.T, "o", ms=4)
for name, point in zip(cities.names, fit.aligned, strict=True):
    axes.annotate(name, point, xytext=(3, 3), textcoords="offset points", fontsize=7)
axes.set(aspect="equal", xlabel="kilometers east", ylabel="kilometers north")
