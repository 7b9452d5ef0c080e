"""
The map of Europe from answers alone
====================================

A learner that is told only things like "Vienna is nearer to Prague than to Rome" draws a map of Europe. We
simulate 8,000 such answers, 5 % of them wrong, hold a tenth back to see how well the map predicts, and lay the
map over the true one.
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
# The learner sees names and answers; the coordinates stay outside.

model = OrdinalEmbedding(n_components=2, random_state=0).fit(train)
print(f"{model.score(test):.1%} of the answers it was not shown")

# %%
# A map from answers has no north and no kilometres. Procrustes analysis moves, turns, mirrors and scales it onto
# the true one; what remains is the disparity, 0 for the same shape.

fit = procrustes(model.embedding_, cities.points)
print(f"disparity {fit.disparity:.4f}")

# %%
# Rings show where the cities really are. (``nearer.maps.write_map`` draws such a map with care for its labels,
# as a picture or as a page to look around in.)

figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
axes.plot(*cities.points.T, "o", mfc="none", mec="0.6", ms=5)
axes.plot(*fit.aligned.T, "o", ms=4)
for name, place in zip(cities.names, fit.aligned, strict=True):
    axes.annotate(name, place, xytext=(3, 3), textcoords="offset points", fontsize=7)
axes.set(aspect="equal", xlabel="kilometres east", ylabel="kilometres north")
