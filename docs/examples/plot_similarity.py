"""
Find digits that look alike
===========================

Handwritten digits as 64 grey values each. Plain distance finds images with ink in the same places; a similarity
that was learned from labels finds the same digit, also in handwriting that it has not seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nearer import LEGO, LMNN, RCA, BilinearSimilarity
from nearer.metrics import precision_at_k, retrieval_map_scorer
from nearer.similarity import Euclidean

X, y = load_digits(return_X_y=True)
X = X / 8 - 1
train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# The similarity is a matrix M, and S(x, x') = xᵀMx'. How much to regularise is settled on held-out images of the
# training part; the duality gap says how far from the best matrix it can be at most.

plain = Euclidean().fit(train)
model = BilinearSimilarity(random_state=0).fit(train, y_train)
print(f"λ = {model.regularization_:.3g}, gap {model.gap_:.1e} after {model.n_iter_} epochs")

# %%
# How well is the same digit found? Each test image is a query among the other test images.

for name, scored in (("plain distance", plain), ("learned", model)):
    print(f"mean average precision, {name}: {retrieval_map_scorer(scored, test, y_test):.3f}")

# %%
# Distances are ahead for the first few that are found; what the bilinear similarity has learned is to go on
# finding. Each learner has its defaults. LMNN cares for the nearest few, as a kNN classifier does.

learners = {
    "BilinearSimilarity": model,
    "LEGO": LEGO(random_state=0),
    "RCA": RCA(),
    "LMNN": LMNN(),
    "plain": plain,
}
depths = [1, 2, 5, 10, 20, 30, 40, 50, 53]  # a query has 53 others of its digit, or nearly
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, learner in learners.items():
    if name not in ("BilinearSimilarity", "plain"):
        learner.fit(train, y_train)
    scores = learner.similarity(test, test) if name == "BilinearSimilarity" else -learner.distance(test, test)
    axis.plot(depths, [precision_at_k(scores, y_test, k) for k in depths], marker="o", markersize=3, label=name)
axis.set(xlabel="found", ylabel="share of them that is the same digit", ylim=(0.4, 1.02))
axis.legend(frameon=False)
plt.show()
