"""
Classify things that nobody measured
====================================

Ninety objects of three kinds, and not one number about any of them: only answers to "is A nearer to B or to C?",
a tenth of them wrong. The kernel of a convex program stands in for features: with the kinds of thirty objects
known, a support vector machine tells those of the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.svm import SVC

from nearer import ComparisonKernel
from nearer.simulate import comparisons_from_points, flip

random = np.random.default_rng(0)
kinds = np.repeat([0, 1, 2], 30)
hidden = 2.0 * np.eye(3)[kinds] + 0.7 * random.normal(size=(90, 3))  # the learner never sees this
answers = comparisons_from_points(hidden, 6000, noise=flip(0.1), random_state=0)

# %%
# The kernel is the optimum of its program, and says how sure that is: no kernel has an objective lower by more
# than the gap.

model = ComparisonKernel(loss="ste", regularization=0.03).fit(answers)
print(f"converged: {model.converged_}, gap at most {model.gap_:.1e}, rank {np.linalg.matrix_rank(model.kernel_)}")

# %%
# scikit-learn takes it as it is: inner products among those whose kind is known to learn from, and between the
# others and them to predict.

known = random.permutation(90)[:30]
others = np.setdiff1d(np.arange(90), known)
machine = SVC(kernel="precomputed").fit(model.kernel_[np.ix_(known, known)], kinds[known])
found = machine.predict(model.kernel_[np.ix_(others, known)])
print(f"{np.mean(found == kinds[others]):.0%} of the kinds of {len(others)} objects told right")

display = ConfusionMatrixDisplay.from_predictions(kinds[others], found, cmap="Blues", colorbar=False)
display.ax_.set(xlabel="told", ylabel="true")
plt.tight_layout()
