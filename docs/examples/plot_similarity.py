"""
Retrieval of similar digits
===========================

Handwritten digits have 64 gray values each. Euclidean distance retrieves images with ink in the same places. A
similarity learned from labels retrieves the same digit, also in unseen handwriting.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nearer import LEGO, LMNN, RCA, BilinearSimilarity, SoftmaxSimilarity
from nearer.metrics import precision_at_k
from nearer.similarity import Euclidean

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# `BilinearSimilarity` is the cosine of a linear map. It starts from the cosine of whitened features; how far to whiten
# and how much to learn from triplets is chosen on held-out images of the training part.

plain = Euclidean().fit(train)
model = BilinearSimilarity(random_state=0).fit(train, y_train)
print(f"shrinkage {model.shrinkage_}, λ = {model.regularization_:.3g}")

# %%
# The score is the mean average precision: each test image is a query among the other test images.

for name, scored in (("Euclidean distance", plain), ("learned", model)):
    print(f"mean average precision, {name}: {scored.score(test, y_test):.3f}")

# %%
# Each learner has its defaults. `SoftmaxSimilarity` compares class probabilities, and ranks nearly all images of a
# digit first. LMNN optimizes the nearest few, as a kNN classifier needs.

learners = {
    "SoftmaxSimilarity": SoftmaxSimilarity(random_state=0).fit(train, y_train),
    "BilinearSimilarity": model,
    "LEGO": LEGO(random_state=0),
    "RCA": RCA(),
    "LMNN": LMNN(),
    "Euclidean": plain,
}
depths = [1, 2, 5, 10, 20, 30, 40, 50, 53]  # there are about 53 other images of each digit
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, learner in learners.items():
    if name in ("LEGO", "RCA", "LMNN"):
        learner.fit(train, y_train)
    is_similarity = hasattr(learner, "similarity")
    scores = learner.similarity(test, test) if is_similarity else -learner.distance(test, test)
    axis.plot(depths, [precision_at_k(scores, y_test, k) for k in depths], marker="o", markersize=3, label=name)
axis.set(xlabel="k", ylabel="precision at k", ylim=(0.4, 1.02))
axis.legend(frameon=False)
plt.show()
