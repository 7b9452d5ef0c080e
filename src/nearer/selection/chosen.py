"""The settings that a fitted estimator chose in place of "auto", for further fits that are not to choose again."""

from typing import Any

from nearer.parameters import is_auto

SEARCHED = (
    "n_components", "loss", "shrinkage", "normalize", "discriminant", "output", "weight", "regularization",
    "learning_rate",
)  # fmt: skip


def chosen_settings(estimator: Any) -> dict[str, Any]:
    """Return the settings that a fitted estimator used, as far as "auto" may choose them."""
    chosen: dict[str, Any] = next(
        (record for record in getattr(estimator, "selection_", None) or [] if record["chosen"]), {}
    )
    settings: dict[str, Any] = {name: chosen[name] for name in ("n_components", "loss") if name in chosen}
    if hasattr(estimator, "shrinkage_"):
        settings["shrinkage"] = estimator.shrinkage_  # None: the features as they are
    if hasattr(estimator, "label_factors_"):
        settings["rank"] = estimator.label_factors_.shape[1]
    for name in ("normalize", "discriminant", "output", "weight", "regularization", "learning_rate"):
        if name == "learning_rate" and getattr(estimator, "n_steps_", 1) == 0:
            continue  # no step was taken
        if getattr(estimator, f"{name}_", None) is not None:
            settings[name] = getattr(estimator, f"{name}_")
    return settings


def settings_in_place_of_auto(estimator: Any, fitted: Any, share: float) -> dict[str, Any]:
    """Return the parameters of an estimator that are "auto", with the values that a fitted copy of it chose.

    Parameters
    ----------
    estimator : estimator
        With parameters that are "auto", or not.
    fitted : estimator
        Fitted to a part of the data.
    share : float
        How much of the data it was fitted to. A ridge is worth a number of answers, so its share of the loss falls as
        answers grow.
    """
    if getattr(fitted, "selection_", None) == []:
        return {}  # nothing could be judged: more data may be enough
    if hasattr(fitted, "label_counts_"):
        return {}  # power and penalty of a label ranker are no parameters: everything is chosen anew
    searched = [parameter for parameter in SEARCHED if is_auto(getattr(estimator, parameter, None))]
    values = chosen_settings(fitted)
    chosen = {parameter: values[parameter] for parameter in searched if parameter in values}
    if "regularization" in chosen:
        chosen["regularization"] *= share
    return chosen
