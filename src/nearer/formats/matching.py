"""Which row of a table is meant: objects of answers by name or number, and the columns of a fitted model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearer.comparisons import Comparisons
from nearer.formats.features import FeatureTable, read_features, read_texts

TEXT = "text"  # the column of texts for a model that was not fitted on a named one


def match_rows(answers: Comparisons, table: FeatureTable, source: Path) -> tuple[Comparisons, NDArray[np.intp]]:
    """Return answers and the row of a table of each of their objects, -1 if it has none.

    Objects are matched by name if both have names, and otherwise by number. If the names of the table are all
    numbers, possibly with leading zeros, answers by number are taken to name them. `source` is the file of the
    answers.
    """
    names = table.names
    if answers.names is None and names is not None and all(name.isdecimal() for name in names):
        bare = tuple(str(int(name)) for name in names)
        names = bare if len(set(bare)) == len(bare) else names
        numbers, rows = np.unique(answers.rows, return_inverse=True)
        answers = Comparisons(
            rows.reshape(answers.rows.shape),
            names=[str(number) for number in numbers.tolist()],
            weights=answers.weights,
            answers=answers.answers,
        )
    if answers.names is not None and names is None:
        raise ValueError(f"{source} names its objects and {table.path} has no names: they cannot be matched")
    return answers, find_objects(answers, names, len(table))


def find_objects(answers: Comparisons, names: Sequence[str] | None, n: int) -> NDArray[np.intp]:
    """Return the number of each object of answers among n objects with these names; -1 for an unknown one."""
    if answers.names is None:
        numbers = np.arange(answers.n_objects)
        return np.where(numbers < n, numbers, -1)
    place = {name: number for number, name in enumerate(names or ())}
    return np.array([place.get(name, -1) for name in answers.names], dtype=np.intp)


def read_table_for(model: Any, path: Path, names: str | None = None) -> FeatureTable:
    """Read the columns that a fitted model, or the first step of a pipeline, takes, in any order in the file."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    if hasattr(first, "terms_"):
        return read_texts(path, first.column_ or TEXT, names=names)
    columns = getattr(first, "feature_names_in_", None)
    columns = None if columns is None else tuple(columns.tolist())
    table = read_features(path, names=names, columns=columns)
    if table.shape[1] != first.n_features_in_:
        features = f"{table.shape[1]:,} feature" + "s" * (table.shape[1] != 1)
        raise ValueError(f"{path} has {features}, and the model was fitted with {first.n_features_in_:,}")
    check_sparse(first, table)
    return replace(table, columns=columns)  # also if the file has no headers


def check_sparse(model: Any, table: FeatureTable) -> None:
    """Raise a ValueError if a table is sparse and an estimator takes dense features only."""
    if issparse(table.X) and not model.__sklearn_tags__().input_tags.sparse:
        raise ValueError(f"{table.path} holds sparse features; {type(model).__name__} takes dense ones only")
