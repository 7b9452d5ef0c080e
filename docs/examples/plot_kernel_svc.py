"""
Classification without features
===============================

Ninety objects of three classes have no features: only answers to "is A nearer to B or to C?" are known, a tenth
of them wrong. The kernel of a convex program replaces the features: from the classes of thirty objects, a
support vector machine predicts those of the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.svm import SVC

from nearer import ComparisonKernel
from nearer.simulate import comparisons_from_points, flip

random = np.random.default_rng(0)
classes = np.repeat([0, 1, 2], 30)
hidden = 2.0 * np.eye(3)[classes] + 0.7 * random.normal(size=(90, 3))  # not known to the estimator
answers = comparisons_from_points(hidden, 6000, noise=flip(0.1), random_state=0)

# %%
# The kernel is the optimum of its program up to the gap: no kernel has an objective lower by more than this.

model = ComparisonKernel(loss="ste", regularization=0.03).fit(answers)
print(f"converged: {model.converged_}, gap at most {model.gap_:.1e}, rank {np.linalg.matrix_rank(model.kernel_)}")

# %%
# scikit-learn takes the kernel directly: inner products among the labelled objects to fit, and between the other
# objects and these to predict.

known = random.permutation(90)[:30]
others = np.setdiff1d(np.arange(90), known)
machine = SVC(kernel="precomputed").fit(model.kernel_[np.ix_(known, known)], classes[known])
predicted = machine.predict(model.kernel_[np.ix_(others, known)])
print(f"{np.mean(predicted == classes[others]):.0%} of {len(others)} objects classified correctly")

display = ConfusionMatrixDisplay.from_predictions(classes[others], predicted, cmap="Blues", colorbar=False)
plt.tight_layout()
