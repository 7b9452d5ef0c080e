"""
A kernel that keeps up with the answers
=======================================

Answers come in one at a time, and after each the kernel is up to date: fit for choosing the next question. We
stream simulated answers about European cities, 5 % of them wrong, watch how well each is predicted before it is
learned, and draw the kernel with scikit-learn's ``KernelPCA``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA

from nearer import Comparisons, OnlineKernel
from nearer.datasets import europe
from nearer.metrics import procrustes
from nearer.simulate import comparisons_from_points, flip

cities = europe()
simulated = comparisons_from_points(cities.points, 4000, noise=flip(0.05), random_state=0)
answers = Comparisons(simulated, names=cities.names)

# %%
# One answer at a time: predict it, then learn from it. Many small steps use the answers well
# (``steps_per_answer=5`` replays four earlier ones for each new one), and shrinkage leads to few dimensions.

model = OnlineKernel(steps_per_answer=5, aggressiveness=0.1, shrinkage=0.05, random_state=0)
model.partial_fit(answers[:1])
was_right = []
for number in range(1, len(answers)):
    answer = answers[number : number + 1]
    was_right.append(model.score(answer))
    model.partial_fit(answer)
print(
    f"{np.mean(was_right[:500]):.1%} of the first 500 predicted, {np.mean(was_right[-500:]):.1%} of the last 500"
)
print(f"{model.n_updates_:,} steps, of which {model.n_projections_:,} needed an eigenproblem")

# %%
# A kernel is a table of inner products, so anything that takes one goes on from here. ``model.embed(2)``
# draws the same map.

places = KernelPCA(n_components=2, kernel="precomputed").fit_transform(model.kernel_)
fit = procrustes(places, cities.points)

figure, (curve, chart) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", width_ratios=[2, 3])
window = 250
curve.plot(np.arange(window, len(was_right) + 1), np.convolve(was_right, np.ones(window) / window, mode="valid"))
curve.set(xlabel="answers", ylabel=f"share of the last {window} predicted before they were learned", ylim=(0.5, 1))
chart.plot(*cities.points.T, "o", mfc="none", mec="0.6", ms=5)
chart.plot(*fit.aligned.T, "o", ms=4)
for name, place in zip(cities.names, fit.aligned, strict=True):
    chart.annotate(name, place, xytext=(3, 3), textcoords="offset points", fontsize=6)
chart.set(aspect="equal", xlabel="kilometres east", ylabel="kilometres north")
