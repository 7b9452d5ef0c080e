"""What ``nearer fit --model`` can learn, and which options apply to which model.

The models are the estimators of `nearer.registry` that have a command. An option is a parameter of the estimator:
it applies to every model that has the parameter and is refused for the others, since an option without effect
would mislead. Which values are possible is for the estimator to say.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from nearer.cli.console import Facts, count, join_or, some
from nearer.registry import FEATURES, REGISTRY, commands, load

PARAMETERS = {
    "dims": "n_components",
    "rank": "rank",
    "loss": "loss",
    "solver": "solver",
    "regularization": "regularization",
    "epochs": "max_iter",
    "steps": "n_steps",
    "learning-rate": "learning_rate",
    "triplets": "n_triplets",
    "psd": "psd",
    "early-stopping": "early_stopping",
    "jobs": "n_jobs",
}
SEARCHED = ("regularization", "learning_rate")  # parameters that "auto" searches for
N_TERMS = {"bilinear": 2_000}  # its matrix has a row and a column per term; others: as many as TextFeatures has
WITHOUT_LOOPS = ("kernel", "rca")  # their fits compile nothing


def make_model(name: str, options: Mapping[str, Any], seed: int) -> Any:
    """Return the unfitted estimator, or pipeline for texts; ValueError for options that do not belong together."""
    if name not in commands():
        raise ValueError(f"unknown model {name!r}; the known ones are {', '.join(commands())}")
    from nearer.parameters import check_parameters

    _check_options(name, options)
    kind = load(commands()[name])
    known = kind().get_params(deep=False)
    parameters = {PARAMETERS[option]: options[option] for option in options if option in PARAMETERS}
    if "random_state" in known:
        parameters["random_state"] = seed
    model = kind(**parameters)
    check_parameters(model)  # before a large file is read
    if "text" not in options:
        return model
    from sklearn.pipeline import Pipeline

    from nearer.features import TextFeatures

    n_terms = options.get("terms") or N_TERMS.get(name)
    return Pipeline([("terms", TextFeatures(n_terms) if n_terms else TextFeatures()), ("model", model)])


def options_of(name: str) -> set[str]:
    """Return the options that apply to a model: parameters of the estimator, and what it learns from."""
    model = load(commands()[name])()
    known = model.get_params(deep=False)
    options = {option for option in PARAMETERS if PARAMETERS[option] in known}
    if REGISTRY[commands()[name]].section == FEATURES:
        options |= {"labels", "names", "ignore"}
        options |= {"comparisons"} & set(inspect.signature(model.fit).parameters)
        if model.__sklearn_tags__().input_tags.sparse:
            options |= {"text", "terms"}
    return options


def fit_copy(model: Any, fit: Callable[[Any], object], quiet: bool) -> tuple[Any, bool]:
    """Fit a copy of a model by ``fit(copy)``; return it, and whether Ctrl-C ended the fit.

    The progress bars are for a terminal.
    """
    copy = deepcopy(model)
    estimator = last_step(copy)[1]
    if "verbose" in estimator.get_params(deep=False):
        estimator.set_params(verbose=not quiet and sys.stderr.isatty())
    fit(copy)
    if "verbose" in estimator.get_params(deep=False):
        estimator.set_params(verbose=False)
    return copy, getattr(estimator, "stop_reason_", "") == "interrupted"


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    applicable = options_of(name)
    for option in options:
        if option not in applicable:
            models = join_or(other for other in commands() if option in options_of(other))
            raise ValueError(f"--{option} is for --model {models}: --model {name} has no such option")
    if "terms" in options and "text" not in options:
        raise ValueError("--terms is for texts: name their column with --text COLUMN")
    if "ignore" in options and "text" in options:
        raise ValueError("--ignore is for tables of numbers: with --text all other columns are ignored")
    targets = [option for option in ("labels", "comparisons") if option in applicable]
    given = [option for option in targets if option in options]
    if targets and len(given) != 1:
        what = join_or(f"--{option}" for option in targets)
        problem = "both are" if given else "that is not" if len(targets) == 1 else "neither is"
        raise ValueError(f"--model {name} learns from features with {what}, and {problem} given")


def last_step(model: Any) -> tuple[Any, Any]:
    """Return the steps of a pipeline before the last (None if there are none), and the estimator at its end."""
    steps = getattr(model, "steps", None)
    if steps is None:
        return None, model
    return model[:-1] if len(steps) > 1 else None, steps[-1][1]


def take_settings(model: Any, trial: Any, ridge_share: float) -> list[str]:
    """Set the parameters of a model that are "auto" to what a trial fit chose; return which.

    The ridge of a map or kernel is worth a number of answers, so it is multiplied by the share of the answers that
    the trial fit had (`nearer.folds` scales it likewise).
    """
    estimator, tried = last_step(model)[1], last_step(trial)[1]
    factors = {"regularization": ridge_share}
    chosen = {
        parameter: getattr(tried, f"{parameter}_") * factors.get(parameter, 1.0)
        for parameter in SEARCHED
        if getattr(estimator, parameter, None) == "auto" and getattr(tried, f"{parameter}_", None) is not None
    }
    estimator.set_params(**chosen)
    return list(chosen)


def describe_model(model: Any, table: Any, chosen: list[str]) -> Facts:
    """Return facts about a fitted model: terms, settings, steps, and how far it is from the optimum at most."""
    before, estimator = last_step(model)
    facts = [] if before is None else _describe_terms(before, table)
    for parameter in SEARCHED:
        value = getattr(estimator, f"{parameter}_", None)
        if value is not None:
            how = ", chosen by auto" if getattr(estimator, parameter) == "auto" else ""
            how = ", chosen on the held-out fit" if parameter in chosen else how
            facts.append((parameter.replace("_", " "), f"{value:.3g}{how}"))
    if hasattr(estimator, "n_steps_"):
        facts.append(("steps", f"{estimator.n_steps_:,}"))
    end = "converged" if getattr(estimator, "converged_", False) else "not converged"
    if getattr(estimator, "gap_", None) is not None:
        objective = f" {estimator.objective_:.5f}," if hasattr(estimator, "objective_") else ""
        facts.append(("optimum", f"objective{objective} at most {estimator.gap_:.1e} above the best; {end}"))
    elif hasattr(estimator, "kernel_"):
        facts.append(("optimum", f"not proved, as for ckl or a regularization of 0; {end}"))
    return facts


def _describe_terms(terms: Any, table: Any) -> Facts:
    X, words = terms.transform(table), terms[0].terms_
    how = "in most texts" if terms[0].scores_ is None else "most telling"
    facts = [("terms", f"{len(words):,}; {how}: {some(words)}")]
    empty = X.shape[0] - len(set(X.nonzero()[0].tolist()))
    return [*facts, ("without terms", count(empty, "text"))] if empty else facts
