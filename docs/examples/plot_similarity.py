"""
Retrieval of similar digits
===========================

Handwritten digits have 64 gray values each. Euclidean distance retrieves images with ink in the same places. A
similarity learned from labels retrieves the same digit, also in unseen handwriting.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nearer import LEGO, LMNN, RCA, BilinearSimilarity
from nearer.metrics import precision_at_k
from nearer.similarity import Euclidean

X, y = load_digits(return_X_y=True)
X = X / 8 - 1
train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# The similarity is a matrix M, and S(x, x') = xᵀMx'. The regularization is chosen on held-out images of the
# training part; the duality gap bounds the distance from the optimum.

plain = Euclidean().fit(train)
model = BilinearSimilarity(random_state=0).fit(train, y_train)
print(f"λ = {model.regularization_:.3g}, gap {model.gap_:.1e} after {model.n_iter_} epochs")

# %%
# The score is the mean average precision: each test image is a query among the other test images.

for name, scored in (("Euclidean distance", plain), ("learned", model)):
    print(f"mean average precision, {name}: {scored.score(test, y_test):.3f}")

# %%
# Distances are better for the first few items; the bilinear similarity is better further down the ranking. Each
# learner has its defaults. LMNN optimizes the nearest few, as a kNN classifier needs.

learners = {
    "BilinearSimilarity": model,
    "LEGO": LEGO(random_state=0),
    "RCA": RCA(),
    "LMNN": LMNN(),
    "Euclidean": plain,
}
depths = [1, 2, 5, 10, 20, 30, 40, 50, 53]  # there are about 53 other images of each digit
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, learner in learners.items():
    if name not in ("BilinearSimilarity", "Euclidean"):
        learner.fit(train, y_train)
    scores = learner.similarity(test, test) if name == "BilinearSimilarity" else -learner.distance(test, test)
    axis.plot(depths, [precision_at_k(scores, y_test, k) for k in depths], marker="o", markersize=3, label=name)
axis.set(xlabel="k", ylabel="precision at k", ylim=(0.4, 1.02))
axis.legend(frameon=False)
plt.show()
