"""
An online kernel
================

Answers arrive one at a time, and the kernel is up to date after each, so it can be used to choose the next
question. We stream simulated answers about European cities, 5 % of them wrong, measure how well each is
predicted before it is learned, and draw the kernel with scikit-learn's ``KernelPCA``.
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
# (``steps_per_answer=5`` replays four earlier ones per new one), and shrinkage leads to few dimensions.

model = OnlineKernel(steps_per_answer=5, aggressiveness=0.1, shrinkage=0.05, random_state=0)
model.partial_fit(answers[:1])
correct = []
for number in range(1, len(answers)):
    answer = answers[number : number + 1]
    correct.append(model.score(answer))
    model.partial_fit(answer)
print(f"{np.mean(correct[:500]):.1%} of the first 500 predicted, {np.mean(correct[-500:]):.1%} of the last 500")
print(f"{model.n_updates_:,} steps, {model.n_projections_:,} of them with an eigenproblem")

# %%
# A kernel is a matrix of inner products, as scikit-learn's kernel methods take. ``model.embed(2)`` returns the
# same map.

points = KernelPCA(n_components=2, kernel="precomputed").fit_transform(model.kernel_)
fit = procrustes(points, cities.points)

figure, (curve, chart) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", width_ratios=[2, 3])
window = 250
curve.plot(np.arange(window, len(correct) + 1), np.convolve(correct, np.ones(window) / window, mode="valid"))
curve.set(xlabel="answers", ylabel=f"share of the last {window} predicted correctly", ylim=(0.5, 1))
chart.plot(*cities.points.T, "o", mfc="none", mec="0.6", ms=5)
chart.plot(*fit.aligned.T, "o", ms=4)
for name, point in zip(cities.names, fit.aligned, strict=True):
    chart.annotate(name, point, xytext=(3, 3), textcoords="offset points", fontsize=6)
chart.set(aspect="equal", xlabel="kilometers east", ylabel="kilometers north")
