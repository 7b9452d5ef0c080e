"""Prequential learning: each answer is predicted by a map or a kernel before the model learns it.

The accuracy needs no held-out answers, since the model has not seen an answer when it predicts it. An answer of
several rows (an odd one out, a ranking) is predicted as a whole before any of them is learned.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearer import Comparisons, OnlineKernel, OrdinalEmbedding

RECENT = 500  # answers that the recent accuracy is computed from
MAX_OBJECTS = 10_000_000  # a number beyond is a mistake: a map would need memory for all objects before it


class PrequentialModel:
    """A model, new or trained before, that predicts each answer before it learns it, and counts what was right.

    ``max_objects`` limits its objects, if it is not None.
    """

    def __init__(self, model: "OrdinalEmbedding | OnlineKernel", max_objects: int | None = None) -> None:
        self.model = model
        self.max_objects = getattr(model, "n_objects", max_objects)
        self.n_answers = 0
        # The weight of the rows that were predicted right, and of all rows: of each of the last answers, and of all.
        self.recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._all = (0.0, 0.0)
        self._about: dict[str, Any] = {}
        self._begun = False
        self._last_id: Any = None

    @property
    def _names(self) -> tuple[str, ...] | None:
        return getattr(self.model, "names_", None)

    @property
    def n_objects(self) -> int:
        """The number of objects so far."""
        if not hasattr(self.model, "n_samples_seen_"):
            return 0
        return len(self._names) if self._names else self.model._n_known  # len(kernel_) would copy a kernel

    def learn(self, value: Any) -> bool:
        """Predict and learn the value of a line; return whether it is an answer of its own.

        A line with the answer id of the line before continues that answer: it is learned but not counted, since the
        model has seen part of the answer. The first line may describe the objects instead.
        """
        from nearer.comparisons.rows import BadRowError
        from nearer.formats.jsonl import about_objects, is_about, parse_answer

        first, self._begun = not self._begun, True
        if first and is_about(value):
            try:
                self._about = about_objects(value)
            except ValueError as error:
                raise BadRowError(0, str(error)) from None
            return False
        limits = [n for n in (self._about.get("n_objects"), self.max_objects) if n is not None]
        n_objects, named = min(limits, default=None), self._names is not None
        comparisons, answer_id = parse_answer(value, self._about.get("names"), n_objects, named)
        predicted = self._predict(comparisons)
        self._partial_fit(comparisons)
        continues = answer_id is not None and answer_id == self._last_id
        self._last_id = answer_id
        if not continues:
            self.n_answers += 1
            self.recent.append(predicted)
            self._all = self._all[0] + predicted[0], self._all[1] + predicted[1]
        return not continues

    def _predict(self, comparisons: "Comparisons") -> tuple[float, float]:
        """Return the weight of the rows that the model predicts right, and of all; unknown objects are wrong."""
        import numpy as np

        weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
        if not self.n_objects:
            return 0.0, float(weights.sum())
        right = self.model.predict(comparisons, unknown="skip") == 1
        return float(weights[right].sum()), float(weights.sum())

    def _partial_fit(self, comparisons: "Comparisons") -> None:
        from nearer.comparisons.rows import BadRowError

        known = set(self._names or ())
        most, new = self.max_objects, [name for name in comparisons.names or () if name not in known]
        if most is not None and len(known) + len(new) > most:
            problem = f"names {new[-1]!r}, but there are only {most} objects, and they have other names"
            raise BadRowError(0, problem)
        too_many = f"makes {comparisons.n_objects:,} objects, too many for the memory"
        if comparisons.n_objects > MAX_OBJECTS:
            raise BadRowError(0, too_many)
        try:
            self.model.partial_fit(comparisons)
        except MemoryError:
            raise BadRowError(0, too_many) from None

    @property
    def accuracy(self) -> float:
        """The share of all rows, by weight, that were predicted right before they were learned."""
        right, weight = self._all
        return right / weight if weight else 0.0

    @property
    def recent_accuracy(self) -> float:
        """The same for the last answers."""
        right, weight = map(sum, zip(*self.recent, strict=True))
        return right / weight if weight else 0.0
