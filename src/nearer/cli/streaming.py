"""One answer after the other into an OnlineKernel, each predicted before it is learned.

That makes the accuracy honest without holding anything back: when an answer is predicted, the kernel has not seen
it. An answer of several rows (an odd one out, a ranking) is predicted as a whole before any of them is learned.
"""

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from nearer import Comparisons, OnlineKernel

RECENT = 500  # answers that the current accuracy looks back on
STEPS = ("passive-aggressive", "1/t", "1/sqrt(t)")


class Learning:
    """A kernel and its stream of answers.

    Parameters
    ----------
    model : OnlineKernel
        New, or one that has learned already.

    Attributes
    ----------
    n_answers, n_objects : int
        Answers so far, not counting those of earlier streams, and objects of the kernel.
    recent : deque
        Of each of the last answers, the weight of the rows that were predicted and of all its rows.
    """

    def __init__(self, model: "OnlineKernel") -> None:
        self.model = model
        self.n_answers = 0
        self.recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._all = (0.0, 0.0)
        self._about: dict[str, Any] = {}
        self._begun = False
        self._answer: Any = None  # the id of the last one
        self._look()

    def _look(self) -> None:
        """See what the kernel knows."""
        self.n_objects = len(self.model.kernel_) if hasattr(self.model, "n_samples_seen_") else 0
        self._known = set(self._names or ())

    @property
    def _names(self) -> tuple[str, ...] | None:
        return getattr(self.model, "names_", None)

    def take(self, value: Any) -> bool:
        """Predict and learn what a line says; whether it was an answer of its own.

        The first line may tell of the objects instead. A line that goes on with the answer of the line before, by
        its id, is learned but not counted: the kernel has seen part of that answer.
        """
        from nearer.comparisons.rows import BadRowError
        from nearer.formats.jsonl import about_objects, answer, is_about

        first, self._begun = not self._begun, True
        if first and is_about(value):
            try:
                self._about = about_objects(value)
            except ValueError as error:
                raise BadRowError(0, str(error)) from None
            return False
        limits = [n for n in (self._about.get("n_objects"), self.model.n_objects) if n is not None]
        given, its_id = answer(
            value, self._about.get("names"), min(limits, default=None), named=self._names is not None
        )
        predicted = self._predicted(given)
        self._learn(given)
        goes_on = its_id is not None and its_id == self._answer
        self._answer = its_id
        if not goes_on:
            self.n_answers += 1
            self.recent.append(predicted)
            self._all = self._all[0] + predicted[0], self._all[1] + predicted[1]
        return not goes_on

    def _predicted(self, given: "Comparisons") -> tuple[float, float]:
        """Return the weight of the rows that the kernel predicts, and of all; it predicts none about strangers."""
        import numpy as np

        weights = np.ones(len(given)) if given.weights is None else given.weights
        right = self._about_known(given)
        if right.any():
            right &= self.model.predict(given) == 1
        return float(weights[right].sum()), float(weights.sum())

    def _about_known(self, given: "Comparisons") -> "np.ndarray":
        import numpy as np

        if given.names is None:
            return np.asarray((given.rows < self.n_objects).all(axis=1))
        known = np.array([name in self._known for name in given.names])
        return np.asarray(known[given.rows].all(axis=1))

    def _learn(self, given: "Comparisons") -> None:
        from nearer.comparisons.rows import BadRowError

        most, new = self.model.n_objects, [name for name in given.names or () if name not in self._known]
        if most is not None and len(self._known) + len(new) > most:
            raise BadRowError(
                0, f"names {new[-1]!r}, but there are only {most} objects, and they have other names"
            )
        try:
            self.model.partial_fit(given)
        except MemoryError:
            raise BadRowError(0, f"makes {given.n_objects:,} objects, too many for the memory") from None
        except ValueError:
            self._look()  # objects may have been added before it failed
            raise
        self._known.update(new)
        self.n_objects = len(self._known) or self.model.n_objects or max(self.n_objects, given.n_objects)

    def accuracy(self) -> float:
        """Return the share of all rows, by weight, that were predicted before they were learned."""
        return _share(*self._all)

    def recent_accuracy(self) -> float:
        """Return the same of the last answers."""
        right, weights = zip(*self.recent, strict=True)
        return _share(sum(right), sum(weights))


def _share(right: float, weight: float) -> float:
    return right / weight if weight else 0.0


def new_kernel(path: Path, given: dict[str, Any]) -> "OnlineKernel":
    """Make the kernel of a new stream; what is wrong with the options is told before the first answer."""
    from nearer import OnlineKernel
    from nearer.kernel.online import erkle_solver

    if path.exists():
        raise ValueError(f"{path} is there already: go on with it by --resume, or name another file")
    given = {"seed": 0, **given}
    if "step" in given:
        given["step"] = _step(given["step"])
    parameters = {
        "objects": "n_objects", "seed": "random_state", "step": "learning_rate", "passes": "steps_per_answer",
    }  # fmt: skip
    model = OnlineKernel(**{parameters.get(name, name): value for name, value in given.items()})
    erkle_solver(model)
    return model


def _step(text: str) -> str | float:
    if text in STEPS:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--step must be {', '.join(STEPS)} or a number; got {text!r}") from None


def old_kernel(path: Path, given: dict[str, Any]) -> "OnlineKernel":
    """Load the kernel of an earlier stream, which brings its options along."""
    from nearer import OnlineKernel, load_model

    if given:
        raise ValueError(f"--{next(iter(given))} is in the model file: leave it out with --resume")
    if not path.exists():
        raise ValueError(f"there is no {path} to go on with: leave --resume out to begin")
    model = load_model(path)
    if not isinstance(model, OnlineKernel):
        kind = type(model).__name__
        raise ValueError(f"{path} holds a model of the kind {kind}; only those of nearer stream can go on")
    return model
