"""The registry: one line per public name. Everything that lists names reads it from here.

`nearer` imports a name from its module on first use, model files hold the estimators listed here, ``nearer fit
--model`` offers those with a command, and the documentation's API page is written from it. No module is imported
before it is needed.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A public name: the package that exports it, and its section of the API page."""

    module: str
    section: str
    command: str = ""  # the name of an estimator for ``nearer fit --model``
    saved: bool = True  # whether a model file can hold it
    top_level: bool = True  # whether it is a name of `nearer` itself


DATA, ANSWERS, FEATURES, LABELS = "Comparisons and files", "Answers", "Similarities of features", "Label ranking"
TRANSFORMERS = "Features"

REGISTRY: dict[str, Entry] = {
    "Comparisons": Entry("nearer.comparisons", DATA, saved=False),
    "read": Entry("nearer.formats", DATA, saved=False),
    "write": Entry("nearer.formats", DATA, saved=False),
    "scan": Entry("nearer.formats", DATA, saved=False),
    "load_model": Entry("nearer.models", DATA, saved=False),
    "OrdinalEmbedding": Entry("nearer.embedding", ANSWERS, command="map"),
    "ComparisonKernel": Entry("nearer.kernel", ANSWERS, command="kernel"),
    "OnlineKernel": Entry("nearer.kernel", ANSWERS),
    "BilinearSimilarity": Entry("nearer.similarity", FEATURES, command="bilinear"),
    "SoftmaxSimilarity": Entry("nearer.similarity", FEATURES, command="softmax"),
    "LowRankSimilarity": Entry("nearer.similarity", FEATURES, command="low-rank"),
    "LEGO": Entry("nearer.similarity", FEATURES, command="lego"),
    "ITML": Entry("nearer.similarity", FEATURES, command="itml"),
    "RCA": Entry("nearer.similarity", FEATURES, command="rca"),
    "LMNN": Entry("nearer.similarity", FEATURES, command="lmnn"),
    "Euclidean": Entry("nearer.similarity", FEATURES, top_level=False),
    "ComparisonEstimator": Entry("nearer.similarity", FEATURES, saved=False, top_level=False),
    "LabelRanker": Entry("nearer.ranking", LABELS, command="label-ranker"),
    "FeatureMap": Entry("nearer.features", TRANSFORMERS),
    "InformationGain": Entry("nearer.features", TRANSFORMERS),
    "TextFeatures": Entry("nearer.features", TRANSFORMERS, top_level=False),
}

# Modules whose classes a model file may hold as parameters: losses and solvers.
PARTS = ("nearer.losses", "nearer.embedding", "nearer.kernel", "nearer.similarity", "nearer.ranking")


def public_names() -> list[str]:
    """Return the names of `nearer` itself, sorted."""
    return sorted(name for name, entry in REGISTRY.items() if entry.top_level)


def saved_models() -> dict[str, str]:
    """Return the module of each estimator that a model file can hold."""
    return {name: entry.module for name, entry in REGISTRY.items() if entry.saved}


def commands() -> dict[str, str]:
    """Return the estimator of each model that ``nearer fit`` can learn, by its name there."""
    return {entry.command: name for name, entry in REGISTRY.items() if entry.command}


def load(name: str) -> Any:
    """Import and return the object of a registered name."""
    return getattr(import_module(REGISTRY[name].module), name)
