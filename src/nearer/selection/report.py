"""What a search tried, for people: a table and a figure of ``selection_``."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = (
    "criterion",
    "error",
    "standard_error",
    "difference",
    "difference_error",
    "n_folds",
    "chosen",
    "averaged",
)
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
FAINT = "#8b95a3"


def _records(model: Any) -> list[dict[str, Any]]:
    """Return the records of a fitted estimator, or records as they are."""
    records = model
    if hasattr(model, "get_params"):
        if not hasattr(model, "selection_"):
            raise ValueError(f"{type(model).__name__} has chosen nothing yet: call fit first")
        records = model.selection_
    if not records:
        reason = "its settings were all given" if records is None else "there were too few answers"
        raise ValueError(f"{type(model).__name__} chose nothing by held-out data: {reason}")
    return list(records)


def table(model: Any, most: int = 20) -> str:
    """Return a table of what a search tried, the best first.

    Parameters
    ----------
    model : estimator or list of dict
        A fitted estimator that chose settings, or its ``selection_``.
    most : int, default=20
        Lines at most.

    Returns
    -------
    str
        One line per candidate: its settings, the criterion by which it was judged where that is not the error (for a
        map the sum of error and log loss, averaged with that of the neighboring ridges), its held-out error with
        the standard error, by how much it is worse than the chosen one on the same answers, and in how many folds
        it was tried; those of fewer folds were dropped as clearly worse. "averaged" are those whose maps are averaged
        with the chosen one.

    Examples
    --------
    >>> from nearer import OrdinalEmbedding
    >>> from nearer.selection import table
    >>> from nearer.simulate import comparisons_from_points
    >>> answers = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 2)), 500, random_state=0)
    >>> model = OrdinalEmbedding(loss="ste", random_state=0).fit(answers)
    >>> print(table(model).splitlines()[0])
    loss  regularization  criterion  error            worse by         folds
    """
    records = sorted(_records(model), key=lambda r: (not r["chosen"], -r["n_folds"], r["criterion"]))
    names = [name for name in records[0] if name not in RESULTS]
    names = [name for name in names if name != "n_components" or len({r["n_components"] for r in records}) > 1]
    extra = ["criterion"] if any(record["criterion"] != record["error"] for record in records) else []
    lines = [[*names, *extra, "error", "worse by", "folds"]]
    for record in records[:most]:
        settings = [
            f"{record[name]:.3g}" if isinstance(record[name], float) else str(record[name]) for name in names
        ]
        worse = "chosen" if record["chosen"] else _with_error(record["difference"], record["difference_error"])
        worse += ", averaged" if record.get("averaged") and not record["chosen"] else ""
        error = _with_error(record["error"], record["standard_error"])
        criterion = [f"{record[name]:.4f}" for name in extra]
        lines.append([*settings, *criterion, error, worse, str(record["n_folds"])])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    more = len(records) - most
    return "\n".join([*text, *([f"and {more} more"] if more > 0 else [])])


def _with_error(value: float, error: float) -> str:
    return f"{value:.4f} ± {error:.4f}"


def plot(model: Any) -> "Figure":
    """Draw the held-out errors of what a search tried: over the ridge or step size, and over the dimensions.

    Parameters
    ----------
    model : estimator or list of dict
        A fitted estimator that chose settings, or its ``selection_``.

    Returns
    -------
    matplotlib.figure.Figure
        Use ``figure.savefig(path)`` to write it.

    Examples
    --------
    >>> from nearer import OrdinalEmbedding
    >>> from nearer.selection import plot
    >>> from nearer.simulate import comparisons_from_points
    >>> answers = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 2)), 500, random_state=0)
    >>> figure = plot(OrdinalEmbedding(random_state=0).fit(answers))
    >>> figure.axes[0].get_xlabel()
    'regularization'
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "nearer[maps]"') from error
    records = _records(model)
    (chosen,) = [record for record in records if record["chosen"]]
    dimensions = sorted({record.get("n_components", 0) for record in records})
    figure = Figure(figsize=(6.5 if len(dimensions) == 1 else 11.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.atleast_1d(figure.subplots(1, min(2, len(dimensions)), sharey=True))
    shown = [record for record in records if record.get("n_components", 0) == chosen.get("n_components", 0)]
    _draw_over_ridge(axes[0], shown, chosen)
    if len(dimensions) > 1:
        axes[0].set_title(f"n_components={chosen['n_components']}")
        _draw_over_dimensions(axes[1], records, chosen)
    axes[0].set_ylabel("held-out error")
    for part in axes:
        part.spines[["top", "right"]].set_visible(False)
        part.grid(axis="y", color=FAINT, alpha=0.25)
    return figure


def _draw_over_ridge(axes: Any, records: list[dict[str, Any]], chosen: dict[str, Any]) -> None:
    """Draw one curve per loss over the ridge, or one over whatever was searched."""
    name = next(name for name in reversed(chosen) if name not in RESULTS)
    for number, loss in enumerate(_unique(str(record.get("loss", name)) for record in records)):
        curve = sorted((r for r in records if str(r.get("loss", name)) == loss), key=lambda record: record[name])
        x, y, error = (np.array([r[key] for r in curve], dtype=float) for key in (name, "error", "standard_error"))
        axes.errorbar(
            x,
            y,
            error,
            color=COLORS[number % len(COLORS)],
            marker="o",
            markersize=3,
            linewidth=1.2,
            capsize=2,
            label=loss,
        )
    axes.plot(chosen[name], chosen["error"], "o", ms=11, mfc="none", mec="black", label="chosen")
    axes.set(xscale="log" if min(record[name] for record in records) > 0 else "linear", xlabel=name)
    axes.legend(frameon=False)


def _draw_over_dimensions(axes: Any, records: list[dict[str, Any]], chosen: dict[str, Any]) -> None:
    """Draw the best error of every number of dimensions."""
    dimensions = _unique(record["n_components"] for record in records)
    best = [
        chosen
        if d == chosen["n_components"]
        else min((r for r in records if r["n_components"] == d), key=lambda r: (-r["n_folds"], r["criterion"]))
        for d in dimensions
    ]
    axes.errorbar(
        dimensions, [r["error"] for r in best], [r["standard_error"] for r in best],
        color=COLORS[0], marker="o", markersize=4, capsize=2,
    )  # fmt: skip
    axes.plot(chosen["n_components"], chosen["error"], "o", ms=11, mfc="none", mec="black")
    axes.set(xlabel="n_components", xticks=dimensions, title="best of each")


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
