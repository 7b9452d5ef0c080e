"""Tables of what a learner was given: dense or sparse, tidy, and left as they were."""

import re

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.base import BaseEstimator

from nearer.features.validation import check_rows_differ, check_scale, validate_features


def test_an_untidy_table_is_put_in_order_and_left_as_it_was():
    given = csr_array((np.array([1.0, 2.0, 0.5, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = given.copy()
    for table in (given, csc_array(given)):
        found = validate_features(BaseEstimator(), table, sparse=True, reset=True)
        assert found.has_canonical_format
        np.testing.assert_array_equal(found.toarray(), [[2.0, 0.0, 1.5], [0.0, 0.0, 0.0]])
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(given, name), getattr(before, name))


def test_one_row_teaches_where_one_is_enough():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        validate_features(BaseEstimator(), [[1, 2]], reset=True)
    model = BaseEstimator()
    assert validate_features(model, [[1, 2]], reset=True, min_samples=1).dtype == np.float64
    assert validate_features(model, [[3, 4]]).shape == (1, 2)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_features_must_be_of_a_size_that_can_be_multiplied(form):
    for largest in (0.0, 1e-59, -1.0, 1e59):
        check_scale(form([[largest, 0.0]]))
    for largest in (1e-61, -1e-61, 1e61, -1e61):
        with pytest.raises(ValueError, match=re.escape(f"the largest feature is {abs(largest):g}: ")):
            check_scale(form([[largest, 0.0]]))


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_row_that_exceeds_all_others_is_named(form):
    table = np.random.default_rng(0).normal(size=(20, 3))
    check_scale(form(table))
    table[7] *= 1e8
    with pytest.warns(UserWarning, match=r"row 7 of X is .*e\+0[78] times as long as most rows"):
        check_scale(form(table))


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_rows_that_are_all_the_same_are_refused(form):
    check_rows_differ(form([[1.0, 0.0], [1.0, 2.0]]))
    check_rows_differ(form([[0.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="all rows of X are the same"):
        check_rows_differ(form([[1.0, 0.0], [1.0, 0.0]]))
