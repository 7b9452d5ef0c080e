"""Comparisons of every kind, for property tests."""

import numpy as np
from hypothesis import strategies as st

from nearer import Comparisons

plain_text = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=6)


@st.composite
def comparisons(draw, *, min_rows=1, words=plain_text, cells=None):
    """Draw Comparisons with any choice of names, weights, subjects, answers and extra columns.

    Names are `words`, and so are the texts in the columns, unless these are drawn from `cells`.
    """
    cells = words if cells is None else cells
    n_objects = draw(st.integers(4, 7))
    width = draw(st.sampled_from([3, 4]))
    n_rows = draw(st.integers(min_rows, 8))
    seed = draw(st.integers(0, 2**16))
    random = np.random.default_rng(seed)
    rows = np.array([random.permutation(n_objects)[:width] for _ in range(n_rows)], dtype=np.int32)

    def per_row(values):
        return draw(st.none() | st.lists(values, min_size=n_rows, max_size=n_rows))

    numbers = st.just(np.nan) | st.floats(allow_infinity=False, width=32)
    whole = st.integers(-(2**63), 2**63 - 1)
    extra = {}
    if draw(st.booleans()):
        extra["seconds"] = draw(st.lists(numbers, min_size=n_rows, max_size=n_rows))
        extra["side"] = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
        extra["trial"] = draw(st.lists(whole, min_size=n_rows, max_size=n_rows))
        extra["practice"] = draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    return Comparisons(
        rows.reshape(n_rows, width),
        n_objects=n_objects,
        names=draw(st.none() | st.lists(words, min_size=n_objects, max_size=n_objects, unique=True)),
        weights=per_row(st.floats(0, 1e6)),
        subjects=draw(
            st.sampled_from([None, cells, st.integers(0, 5), whole]).flatmap(
                lambda s: st.none() if s is None else st.lists(s, min_size=n_rows, max_size=n_rows)
            )
        ),
        answers=per_row(st.integers(0, 4)),
        extra=extra,
    )


def same(one, two):
    """Whether two Comparisons are equal in everything, types of columns included."""

    def equal(x, y):
        if x is None or y is None:
            return x is y
        return x.dtype.kind == y.dtype.kind and np.array_equal(x, y, equal_nan=x.dtype.kind == "f")

    return (
        np.array_equal(one.rows, two.rows)
        and one.n_objects == two.n_objects
        and one.names == two.names
        and np.array_equal(one.answers, two.answers)
        and equal(one.weights, two.weights)
        and equal(one.subjects, two.subjects)
        and set(one.extra) == set(two.extra)
        and all(equal(one.extra[name], two.extra[name]) for name in one.extra)
    )
