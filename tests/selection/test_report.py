"""What people see of a search: the table and the figure."""

import numpy as np
import pytest

from nearer import ComparisonKernel, OrdinalEmbedding
from nearer.selection import plot, table
from nearer.simulate import comparisons_from_points

ANSWERS = comparisons_from_points(np.random.default_rng(0).normal(size=(12, 2)), 300, random_state=0)


def record(loss, ridge, error, n_components=2, chosen=False):
    return {
        "n_components": n_components,
        "loss": loss,
        "regularization": ridge,
        "criterion": error,
        "error": error,
        "standard_error": 0.01,
        "difference": error - 0.1,
        "difference_error": 0.005,
        "n_folds": 3,
        "chosen": chosen,
    }


SEARCH = [
    record("tste", 0.01, 0.25),
    record("tste", 0.1, 0.09),
    record("ste", 0.01, 0.1, chosen=True),
    record("ste", 0.03, 0.2),
]
DIMENSIONS = [record("ste", 0.01, 0.3, 1), *SEARCH, record("ste", 0.01, 0.12, 3), record("ste", 0.1, 0.11, 3)]


def test_the_table_begins_with_the_chosen_and_goes_on_with_the_best():
    assert table(SEARCH).splitlines() == [
        "loss  regularization  error            worse by          folds",
        "ste   0.01            0.1000 ± 0.0100  chosen            3",
        "tste  0.1             0.0900 ± 0.0100  -0.0100 ± 0.0050  3",
        "ste   0.03            0.2000 ± 0.0100  0.1000 ± 0.0050   3",
        "tste  0.01            0.2500 ± 0.0100  0.1500 ± 0.0050   3",
    ]


def test_the_table_shows_the_criterion_where_it_is_not_the_error():
    records = [{**one, "criterion": one["error"] + 0.2} for one in SEARCH]
    assert table(records).splitlines()[1].startswith("ste   0.01            0.3000     0.1000 ± 0.0100  chosen")


def test_the_table_has_dimensions_where_they_were_searched_and_says_what_it_leaves_out():
    lines = table(DIMENSIONS, most=2).splitlines()
    assert lines[0].startswith("n_components  loss  regularization  error")
    assert lines[1].startswith("2             ste   0.01")
    assert len(lines) == 4
    assert lines[-1] == "and 5 more"


def curves(axes):
    """The lines of the error bars of some axes by label: x and y."""
    return {bar.get_label(): tuple(map(list, bar.lines[0].get_data())) for bar in axes.containers}


def marked(axes):
    """Where the ring around the chosen candidate is."""
    (ring,) = [line for line in axes.lines if line.get_markersize() == 11]
    return [float(value[0]) for value in ring.get_data()]


def test_the_figure_has_one_curve_per_loss_and_marks_the_chosen():
    (axes,) = plot(SEARCH).axes
    assert curves(axes) == {"tste": ([0.01, 0.1], [0.25, 0.09]), "ste": ([0.01, 0.03], [0.1, 0.2])}
    assert marked(axes) == [0.01, 0.1]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["chosen", "tste", "ste"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("regularization", "held-out error", "log")


def test_the_figure_of_dimensions_has_the_best_of_each():
    ridge, dimensions = plot(DIMENSIONS).axes
    assert set(curves(ridge)) == {"tste", "ste"}
    assert ridge.get_title() == "n_components=2"
    ((x, y),) = curves(dimensions).values()
    assert (x, y) == ([1, 2, 3], [0.3, 0.1, 0.11])
    assert marked(dimensions) == [2, 0.1]
    assert dimensions.get_xlabel() == "n_components"


def test_a_search_for_one_parameter_is_shown_too(tmp_path):
    model = ComparisonKernel("ste").fit(ANSWERS)
    assert table(model).startswith("regularization  error")
    (axes,) = plot(model).axes
    (name,) = curves(axes)
    assert name == axes.get_xlabel() == "regularization"
    assert marked(axes)[0] == pytest.approx(model.regularization_)
    plot(model).savefig(tmp_path / "ridge.png")
    assert (tmp_path / "ridge.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("show", [table, plot])
def test_an_estimator_that_chose_nothing_has_nothing_to_show(show):
    model = OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(ANSWERS)
    with pytest.raises(ValueError, match="OrdinalEmbedding chose nothing by held-out data"):
        show(model)
    too_few = OrdinalEmbedding(1, random_state=0).fit([[0, 1, 2], [1, 0, 2]])
    with pytest.raises(ValueError, match="too few"):
        show(too_few)
    with pytest.raises(ValueError, match="call fit first"):
        show(OrdinalEmbedding())
