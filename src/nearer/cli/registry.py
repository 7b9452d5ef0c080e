"""What ``nearer fit`` can learn: a table with one entry a model.

An entry names the estimator, what it learns from, and the options that are its own. An option of another model is
refused: an option that does nothing would only mislead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nearer.cli.tasks import Facts


@dataclass(frozen=True)
class Learner:
    """A kind of model that is fitted.

    Attributes
    ----------
    estimator : str
        Its name in `nearer`.
    what : str
        What is learned, in a word.
    step : str
        What its fit is made of: that is what the progress bar counts.
    options : mapping of str to str
        The options of the command line that concern it, and the parameters that they are.
    choices : mapping of str to tuple of str
        What some of the options may be, the estimator's own default first.
    taught_by : tuple of str
        The options that say what features are learned with, "labels" and "comparisons", of which one is to be
        given; none for a model that learns from answers alone.
    terms : int
        How many terms of texts become features where nobody says; 0 for a model that takes dense features only.
    compiles : bool
        Whether a first fit compiles loops, which takes a while.
    more : callable
        What else there is to say of a fitted model.
    """

    estimator: str
    what: str
    step: str
    options: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    taught_by: tuple[str, ...] = ()
    terms: int = 0
    compiles: bool = False
    more: Callable[[Any], Facts] = lambda model: []

    @property
    def all_options(self) -> set[str]:
        """The options that concern it, be they parameters or say what it learns from."""
        tables = {"names", "ignore"} if self.taught_by else set()
        return {*self.options, *self.taught_by, *tables, *({"text", "terms"} if self.terms else set())}

    def model(self, options: Mapping[str, Any], seed: int) -> Any:
        """Make the estimator, unfitted; options that are None were not given and are left to the library."""
        import nearer

        given = {name: value for name, value in options.items() if value is not None}
        self._check(given)
        kind = getattr(nearer, self.estimator)
        own = {self.options[name]: value for name, value in given.items() if name in self.options}
        if "random_state" in kind().get_params(deep=False):
            own["random_state"] = seed
        return kind(**own)

    def _check(self, given: Mapping[str, Any]) -> None:
        """Tell what is wrong with the options before a large file is read."""
        from nearer.losses import as_loss

        name = next(name for name, learner in LEARNERS.items() if learner is self)
        for option in given:
            if option not in self.all_options:
                owners = tuple(other for other, learner in LEARNERS.items() if option in learner.all_options)
                raise ValueError(f"--{option} is for --model {_or(owners)}: --model {name} has no such option")
        if "loss" in given:
            as_loss(given["loss"], 2)
        if "solver" in given and "solver" not in self.choices:
            from nearer.embedding import SOLVERS
            from nearer.solver import as_solver

            as_solver(given["solver"], SOLVERS)
        for option, choices in self.choices.items():
            if option in given and given[option] not in choices:
                raise ValueError(
                    f"the {option} of a {self.what} is {_or(choices)}; got --{option} {given[option]}"
                )
        if "terms" in given and "text" not in given:
            raise ValueError("--terms is for texts, and no column of texts is given: it wants --text COLUMN")
        if "ignore" in given and "text" in given:
            raise ValueError("--ignore is for tables of numbers: with --text all other columns are left out")
        there = [option for option in self.taught_by if option in given]
        if self.taught_by and len(there) != 1:
            wanted = _or(tuple(f"--{option}" for option in self.taught_by))
            got = "both are" if there else "that is not" if len(self.taught_by) == 1 else "neither is"
            raise ValueError(f"--model {name} learns from features with {wanted}, and {got} given")


def learner(name: str) -> Learner:
    """Return the entry of the table; ValueError for a name that is not in it.

    Examples
    --------
    >>> learner("kernel").choices["loss"]
    ('gnmds', 'ste', 'ckl')
    """
    if name not in LEARNERS:
        raise ValueError(f"unknown model {name!r}; the known ones are {', '.join(LEARNERS)}")
    return LEARNERS[name]


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _optimum(kernel: Any) -> Facts:
    """How good the kernel is: for a convex loss there is a proof."""
    end = "converged" if kernel.converged_ else "not converged"
    if kernel.gap_ is None:
        return [("optimum", f"not proved, as for ckl or a regularization of 0; {end}")]
    proof = f"objective {kernel.objective_:.5f}, at most {kernel.gap_:.1e} above the best"
    return [("optimum", f"{proof}; {end}")]


def _ridge_and_gap(similarity: Any) -> Facts:
    """How much regularisation was taken, and how far from the optimum the similarity can be; of OASIS neither."""
    if similarity.regularization_ is None:
        return []
    chosen = ", as auto chose" if similarity.regularization == "auto" else ""
    said = [("regularization", f"{similarity.regularization_:.3g}{chosen}")]
    if similarity.gap_ is not None:
        end = "converged" if similarity.converged_ else "not converged"
        said.append(("optimum", f"duality gap {similarity.gap_:.1e}: at most so far above the best; {end}"))
    return said


def _steps_taken(similarity: Any) -> Facts:
    """How long it learned."""
    return [("steps", f"{similarity.n_steps_:,}")]


LEARNERS = {
    "map": Learner(
        "OrdinalEmbedding",
        "map",
        "epoch",
        options={
            "dims": "n_components",
            "loss": "loss",
            "solver": "solver",
            "regularization": "regularization",
            "epochs": "max_iter",
            "early-stopping": "early_stopping",
            "jobs": "n_jobs",
        },
        choices={"loss": ("tste", "ste", "ckl", "gnmds", "soe")},
        compiles=True,
    ),
    "kernel": Learner(
        "ComparisonKernel",
        "kernel",
        "iteration",
        options={"loss": "loss", "regularization": "regularization"},
        choices={"loss": ("gnmds", "ste", "ckl")},
        more=_optimum,
    ),
    "bilinear": Learner(
        "BilinearSimilarity",
        "similarity",
        "epoch",
        options={
            "solver": "solver",
            "regularization": "regularization",
            "epochs": "max_iter",
            "triplets": "n_triplets",
            "psd": "psd",
        },
        choices={"solver": ("sdca", "oasis")},
        taught_by=("labels", "comparisons"),
        terms=2_000,  # its matrix has a row and a column for each
        compiles=True,
        more=_ridge_and_gap,
    ),
    "low-rank": Learner(
        "LowRankSimilarity",
        "similarity",
        "round",
        options={
            "rank": "rank",
            "solver": "solver",
            "loss": "loss",
            "learning-rate": "learning_rate",
            "steps": "n_steps",
            "early-stopping": "early_stopping",
        },
        choices={"solver": ("loreta", "gd", "pa", "loreta-identify")},
        taught_by=("labels", "comparisons"),
        terms=20_000,
        compiles=True,
        more=_steps_taken,
    ),
    "lego": Learner(
        "LEGO",
        "distance",
        "epoch",
        options={"epochs": "max_iter"},
        taught_by=("labels", "comparisons"),
        compiles=True,
    ),
    "itml": Learner(
        "ITML",
        "distance",
        "epoch",
        options={"epochs": "max_iter"},
        taught_by=("labels", "comparisons"),
        compiles=True,
    ),
    "rca": Learner("RCA", "distance", "epoch", options={"dims": "n_components"}, taught_by=("labels",)),
    "lmnn": Learner(
        "LMNN",
        "distance",
        "iteration",
        options={"dims": "n_components", "epochs": "max_iter"},
        taught_by=("labels",),
        compiles=True,
    ),
}
