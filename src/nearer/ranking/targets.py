"""What a label ranker learns from: a table of features, and for each row the labels that are true of it.

Labels come as an indicator matrix, dense or sparse, or as one class per row. Either becomes a list of true labels
per row, in rising order: the loops never see a table of rows by labels.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from nearer.lowrank import Rows

RAGGED = (
    "Y is a list of lists or sets of labels; an indicator matrix of 0 and 1 is wanted, such as scikit-learn's "
    "MultiLabelBinarizer makes of them"
)


class Labels(NamedTuple):
    """The true labels of rows: row i has ``labels[starts[i]:starts[i + 1]]``, rising."""

    starts: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, table: csr_array) -> Self:
        """Return the labels of an indicator matrix in canonical format without explicit zeros."""
        return cls(table.indptr.astype(np.int64), table.indices.astype(np.int32))

    def of_row(self, row: int) -> np.ndarray:
        """Return the true labels of a row."""
        return self.labels[self.starts[row] : self.starts[row + 1]]

    @property
    def most(self) -> int:
        """How many labels a row has at most."""
        return int(np.diff(self.starts).max(initial=0))


@dataclass(frozen=True)
class TrainingSet:
    """Rows to learn from: their features, the constant one among them, and true labels, some but not all per row."""

    table: Any
    indicator: csr_array
    weights: np.ndarray | None = None  # positive: how many rows each stands for; None: one
    rows: Rows = field(init=False)  # the same as the loops take them
    labels: Labels = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", Rows.of(self.table))
        object.__setattr__(self, "labels", Labels.of(self.indicator))

    def __len__(self) -> int:
        return int(self.table.shape[0])

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return int(self.indicator.shape[1])

    def take(self, which: np.ndarray) -> Self:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[which]
        return type(self)(self.table[which], self.indicator[which], weights)

    @property
    def shares(self) -> np.ndarray:
        """The weights, 1 for each row without."""
        return np.ones(len(self)) if self.weights is None else self.weights


class Target(NamedTuple):
    """The content of a Y: an indicator matrix of rows by labels, the names of its columns, and the form of Y."""

    indicator: csr_array
    classes: np.ndarray
    form: str  # "classes", "dense" or "sparse"
    dtype: str  # of the entries of an indicator matrix
    named: bool  # whether the columns came with names


def with_constant(table: Any, value: float) -> Any:
    """Return the table with a last column of one value."""
    column = np.full((table.shape[0], 1), value)
    if issparse(table):
        return csr_array(hstack([table, csr_array(column)], format="csr"))
    return np.ascontiguousarray(np.hstack([table, column]))


def read_target(model: Any, Y: Any, names: Any, n_rows: int, *, whole: bool = True) -> Target:
    """Return the content of a Y, an indicator matrix or one class per row, for an X of ``n_rows`` rows."""
    # The names are those of columns, or all classes; without them all classes are in Y if it is the whole.
    if Y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: wanted is an indicator "
            "matrix of rows by labels, or one class per row"
        )
    columns = getattr(Y, "columns", None)
    if not issparse(Y):
        Y = _array(Y)
        if Y.ndim < 2 and names is None and not whole:
            raise ValueError("classes must be passed on the first call to partial_fit: all there will be")
    if not issparse(Y) and (Y.ndim < 2 or (Y.ndim == 2 and Y.shape[1] == 1)):
        target = _of_classes(Y, names)
    else:
        target = _of_indicator(Y, columns if names is None else names)
    check_consistent_length(np.empty(n_rows), np.empty(target.indicator.shape[0]))
    return target


def _array(Y: Any) -> np.ndarray:
    """Return Y as an array; ValueError where it holds a list or a set of labels for each row."""
    try:
        array = np.asarray(Y)
    except ValueError:  # lists of different lengths
        raise ValueError(RAGGED) from None
    collections = list | tuple | set | frozenset | np.ndarray
    if array.dtype == object and array.ndim == 1 and any(isinstance(entry, collections) for entry in array):
        raise ValueError(RAGGED)
    return array


def _of_classes(y: Any, names: Any) -> Target:
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    kinds = sorted({type(label).__name__ for label in y.tolist()}) if y.dtype == object else []
    if len(kinds) > 1 or "NoneType" in kinds:
        raise ValueError(f"y must be classes of one kind, such as words or numbers; got {' and '.join(kinds)}")
    if names is None:
        classes, numbers = np.unique(y, return_inverse=True)
    else:
        classes = np.unique(names)
        numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        strange = np.flatnonzero(classes[numbers] != y)
        if len(strange):
            raise ValueError(
                f"row {strange[0]} has the class {y[strange[:1]].tolist()[0]!r}, which is not among the "
                f"{len(classes)} classes given at first"
            )
    if len(classes) < 2:
        raise ValueError(f"a ranking needs at least two classes; y has only one class, {classes.tolist()}")
    shape = (len(y), len(classes))
    ones = csr_array((np.ones(len(y)), numbers.astype(np.int32), np.arange(len(y) + 1)), shape=shape)
    return Target(ones, classes, "classes", "", True)


def _of_indicator(Y: Any, names: Any) -> Target:
    form = "sparse" if issparse(Y) else "dense"
    if Y.ndim != 2:
        raise ValueError(
            f"Y must be a table of rows by labels or one class per row; got an array of shape {Y.shape}"
        )
    if form == "dense" and Y.dtype.kind not in "biuf":
        try:
            Y = Y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Y must be an indicator matrix of 0 and 1; got entries of {Y.dtype}") from None
    dtype = np.dtype(Y.dtype).str
    table = csr_array(Y, dtype=np.float64, copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    strange = np.flatnonzero(table.data != 1.0)
    if len(strange):
        row = int(np.searchsorted(table.indptr, strange[0], side="right")) - 1
        value, column = table.data[strange[0]], table.indices[strange[0]]
        raise ValueError(f"Y must be an indicator matrix of 0 and 1; row {row}, column {column} is {value:g}")
    if table.shape[1] < 2:
        raise ValueError(f"a ranking needs at least two labels; Y has shape {table.shape}")
    classes = np.arange(table.shape[1]) if names is None else np.asarray(names)
    if classes.shape != (table.shape[1],):
        raise ValueError(
            f"one name a label is wanted: Y has {table.shape[1]} columns, and the names given have shape "
            f"{classes.shape}"
        )
    if classes.dtype == object or classes.dtype.kind == "T":
        classes = np.array([str(name) for name in classes])
    if len(np.unique(classes)) < len(classes):
        raise ValueError("two labels have the same name: each column of Y needs its own")
    return Target(table, classes, form, dtype, names is not None)
