"""What ``nearer fit`` can learn: a table with one entry a model.

An entry names the estimator, the losses that it takes and the options that are its own. An option of another
model is refused: an option that does nothing would only mislead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class Learner:
    """A kind of model that answers are fitted with.

    Attributes
    ----------
    estimator : str
        Its name in `nearer`.
    what : str
        What is learned, in a word.
    step : str
        What its fit is made of: that is what the progress bar counts.
    losses : tuple of str
        The losses that it takes, its own default first.
    options : mapping of str to str
        The options of the command line that concern it, and the parameters that they are.
    compiles : bool
        Whether a first fit compiles loops, which takes a while.
    more : callable
        What else there is to say of a fitted model.
    """

    estimator: str
    what: str
    step: str
    losses: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    compiles: bool = False
    more: Callable[[Any], Facts] = lambda model: []

    def model(self, loss: str | None, options: Mapping[str, Any], **common: Any) -> Any:
        """Make the estimator, unfitted; options that are None were not given and are left to the library."""
        import nearer
        from nearer.losses import as_loss

        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if name not in self.options:
                owner = next(other for other, learner in LEARNERS.items() if name in learner.options)
                raise ValueError(f"--{name} is for --model {owner}: a {self.what} has no such option")
        loss = self.losses[0] if loss is None else loss
        as_loss(loss, 2)  # an unknown name is told before a large file is read
        if loss not in self.losses:
            raise ValueError(f"the loss of a {self.what} is {_or(self.losses)}; got --loss {loss}")
        own = {self.options[name]: value for name, value in given.items()}
        return getattr(nearer, self.estimator)(loss=loss, **own, **common)


def learner(name: str) -> Learner:
    """Return the entry of the table; ValueError for a name that is not in it.

    Examples
    --------
    >>> learner("kernel").losses
    ('gnmds', 'ste', 'ckl')
    """
    if name not in LEARNERS:
        raise ValueError(f"unknown model {name!r}; the known ones are {', '.join(LEARNERS)}")
    return LEARNERS[name]


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _optimum(kernel: Any) -> Facts:
    """How good the kernel is: for a convex loss there is a proof."""
    end = "converged" if kernel.converged_ else "not converged"
    if kernel.gap_ is None:
        return [("optimum", f"not proved, as for ckl or a regularization of 0; {end}")]
    proof = f"objective {kernel.objective_:.5f}, at most {kernel.gap_:.1e} above the best"
    return [("optimum", f"{proof}; {end}")]


LEARNERS = {
    "map": Learner(
        "OrdinalEmbedding",
        "map",
        "epoch",
        losses=("tste", "ste", "ckl", "gnmds", "soe"),
        options={
            "dims": "n_components",
            "solver": "solver",
            "epochs": "max_epochs",
            "early-stopping": "early_stopping",
            "jobs": "n_jobs",
        },
        compiles=True,
    ),
    "kernel": Learner(
        "ComparisonKernel",
        "kernel",
        "iteration",
        losses=("gnmds", "ste", "ckl"),
        more=_optimum,
    ),
}
