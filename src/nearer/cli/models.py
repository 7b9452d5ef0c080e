"""Models: which options make them in ``nearer fit --model``, and what other commands ask of a model file.

The models are the estimators of `nearer.registry` that have a command. An option is a parameter of the estimator:
it applies to every model that has the parameter and is refused for the others, since an option without effect
would mislead. Which values are possible is for the estimator to say.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.app import Facts, count, print_note, some, writing
from nearer.registry import FEATURES, LABELS, REGISTRY, commands, load

if TYPE_CHECKING:
    from nearer.formats import FeatureTable

SAME_NAME = (
    "rank", "loss", "solver", "regularization", "learning_rate", "psd", "early_stopping", "validation", "checkpoint",
    "device",
)  # fmt: skip
PARAMETERS = {name.replace("_", "-"): name for name in SAME_NAME} | {
    "dims": "n_components",
    "epochs": "max_iter",
    "steps": "n_steps",
    "triplets": "n_triplets",
    "seconds": "max_seconds",
    "jobs": "n_jobs",
}
N_TERMS = {"bilinear": 2_000}  # its matrix has a row and a column per term; others: as many as TextFeatures has
WITHOUT_LOOPS = ("kernel", "rca")  # their fits compile nothing


def make_model(name: str, options: Mapping[str, Any], seed: int) -> Any:
    """Return the unfitted estimator, or pipeline for texts; ValueError for options that do not belong together."""
    if name not in commands():
        raise ValueError(f"unknown model {name!r}; the known ones are {', '.join(commands())}")
    _check_options(name, options)
    model = load(commands()[name])()
    always = {"random_state": seed, "n_jobs": -1}
    model.set_params(**{name: always[name] for name in always if name in model.get_params(deep=False)})
    model.set_params(**{PARAMETERS[option]: options[option] for option in options if option in PARAMETERS})
    check_options(model, PARAMETERS)  # before a large file is read
    if "text" not in options:
        return model
    from sklearn.pipeline import Pipeline

    from nearer.features import TextFeatures

    n_terms = options.get("terms") or N_TERMS.get(name)
    return Pipeline([("terms", TextFeatures(n_terms) if n_terms else TextFeatures()), ("model", model)])


def check_options(model: Any, parameters: Mapping[str, str]) -> None:
    """Check the parameters of a model; an error names the option, not the parameter that it is."""
    from nearer.parameters import check_parameters

    try:
        check_parameters(model)
    except ValueError as error:
        name, must, rest = str(error).partition(" must be ")
        option = next((option for option, parameter in parameters.items() if parameter == name), None)
        if not must or option is None:
            raise
        raise ValueError(f"--{option} must be {rest.removeprefix('None or ').removeprefix('None, ')}") from None


def options_of(name: str) -> set[str]:
    """Return the options that apply to a model: parameters of the estimator, and what it learns from."""
    model = load(commands()[name])()
    known = model.get_params(deep=False)
    options = {option for option in PARAMETERS if PARAMETERS[option] in known}
    section = REGISTRY[commands()[name]].section
    if section in (FEATURES, LABELS):
        options |= {"labels", "names", "ignore"}
    if section == FEATURES:
        options |= {"comparisons"} & set(inspect.signature(model.fit).parameters)
        if model.__sklearn_tags__().input_tags.sparse:
            options |= {"text", "terms"}
    return options


def fit_copy(model: Any, fit: Callable[[Any], object], quiet: bool) -> tuple[Any, bool]:
    """Fit a copy of a model by ``fit(copy)``; return it, and whether Ctrl-C ended the fit."""
    copy = deepcopy(model)
    estimator = last_step(copy)[1]
    has_progress_bar = "verbose" in estimator.get_params(deep=False)
    if has_progress_bar:
        estimator.set_params(verbose=not quiet and sys.stderr.isatty())
    fit(copy)
    if has_progress_bar:
        estimator.set_params(verbose=False)
    return copy, getattr(estimator, "stop_reason_", "") == "interrupted"


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    from nearer.parameters import join_or

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
    """Set the parameters of a model that are "auto" to what a trial fit chose; return which."""
    from nearer.selection.chosen import settings_in_place_of_auto

    estimator = last_step(model)[1]
    chosen = settings_in_place_of_auto(estimator, last_step(trial)[1], ridge_share)
    estimator.set_params(**chosen)
    return list(chosen)


def describe_model(model: Any, table: Any, chosen: list[str]) -> Facts:
    """Return facts about a fitted model: terms, settings, steps, and how far it is from the optimum at most."""
    from nearer.selection.chosen import chosen_settings

    before, estimator = last_step(model)
    facts = [] if before is None else _describe_terms(before, table)
    for parameter, value in chosen_settings(estimator).items():
        auto = getattr(estimator, parameter) == "auto"
        if auto or parameter in chosen or parameter in ("regularization", "learning_rate"):
            how = ", chosen by auto" if auto else ", chosen on the held-out fit" if parameter in chosen else ""
            name = "dimensions" if parameter == "n_components" else parameter.replace("_", " ")
            value = f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)
            facts.append((name, value + how))
    n_averaged = sum(record.get("averaged", False) for record in getattr(estimator, "selection_", None) or [])
    if n_averaged:
        facts.append(
            ("averaged", f"the mean of {n_averaged} maps, whose losses and regularizations are about as good")
        )
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
    how = "in most texts" if terms[0].scores_ is None else "most informative"
    facts = [("terms", f"{len(words):,}; {how}: {some(words)}")]
    empty = X.shape[0] - len(set(X.nonzero()[0].tolist()))
    return [*facts, ("without terms", count(empty, "text"))] if empty else facts


def load_with_table(path: Path, features: Path | None, names: str | None) -> tuple[Any, "FeatureTable | None"]:
    """Load a model; with the table of features that it compares objects by, if it does."""
    from nearer import load_model
    from nearer.formats.features import read_table_for

    loaded = load_model(path)
    before, model = last_step(loaded)
    if not hasattr(model, "score_comparisons"):
        check_objects(model, path)
        for option, value in (("features", features), ("names", names)):
            if value is not None:
                raise ValueError(f"--{option} is for models of features: {path} has objects of its own")
        return model, None
    if features is None:
        raise ValueError(
            f"{path} compares objects by their features and has none of its own: it needs a table of the objects' "
            "features, with --features FILE"
        )
    table = read_table_for(loaded, features, names)
    if table.others:
        print_note(f"left out of {features}, as the model was fitted without: {some(table.others)}")
    return model, table if before is None else replace(table, X=before.transform(table), columns=None)


def check_objects(model: Any, path: Path) -> None:
    """Raise a ValueError for a model that has no objects of its own."""
    if not (hasattr(model, "embedding_") or hasattr(model, "kernel_")):
        kind = type(model).__name__
        raise ValueError(f"{path} is a {kind}: such a model has no objects of its own to compare or map")


def known_objects(model: Any, table: "FeatureTable | None") -> tuple[int, Sequence[str] | None, str]:
    """Return how many objects a model or its table has, their names, and what has them, for messages."""
    if table is not None:
        return len(table), table.names, str(table.path)
    return len(model.embedding_ if hasattr(model, "embedding_") else model.kernel_), model.names_, "the model"


def save(model: Any, path: Path) -> None:
    """Write a model file."""
    from nearer.models import save_model

    with writing(path):
        save_model(model, path)


def find_object(text: str, names: Sequence[str] | None, n: int, owner: str) -> int:
    """Return the number of the object that a person means by a name or number; `owner` is what has the objects."""
    from nearer.comparisons.objects import unknown_object

    if names is not None and text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < n and not all(name.isdecimal() for name in names or "x"):
        return int(text)
    raise unknown_object(text, names, n, owner)
