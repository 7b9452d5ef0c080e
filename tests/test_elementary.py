"""The compiled exp and log against numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.jit import bind
from nearer.losses import ops

EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 2.3e-308, 1.7e308, -708.0, 709.0, -745.0, 710.0]


def fill_exp(x, out):
    for p in range(x.size):
        out[p] = ops.exp(x[p])


def fill_log(x, out):
    for p in range(x.size):
        out[p] = ops.log(x[p])


def compiled(loop, x):
    out = np.empty_like(x)
    bind(loop)(x, out)
    return out


@given(st.lists(st.floats(-708.0, 709.0), min_size=1, max_size=40))
def test_exp_is_that_of_numpy(numbers):
    x = np.array(numbers)
    np.testing.assert_allclose(compiled(fill_exp, x), np.exp(x), rtol=1e-15)


@given(st.lists(st.floats(0.0, exclude_min=True, allow_infinity=False), min_size=1, max_size=40))
def test_log_is_that_of_numpy(numbers):
    x = np.array(numbers)
    np.testing.assert_allclose(compiled(fill_log, x), np.log(x), rtol=1e-15, atol=1e-16)


def test_log_is_exact_near_one():
    x = 1.0 + np.linspace(-1e-3, 1e-3, 2001)
    np.testing.assert_allclose(compiled(fill_log, x), np.log(x), rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize(("loop", "function"), [(fill_exp, np.exp), (fill_log, np.log)])
def test_edges_are_those_of_numpy(loop, function):
    x = np.array(EDGES)
    with np.errstate(all="ignore"):
        expected = function(x)
    expected[(expected > 0) & (expected < 3e-308)] = 0.0  # smaller results of exp are zero
    np.testing.assert_allclose(compiled(loop, x), expected, rtol=1e-15)


@pytest.mark.parametrize(("loop", "function"), [(fill_exp, np.exp), (fill_log, np.log)])
def test_single_precision_stays_single(loop, function):
    x = np.linspace(0.1, 80.0, 1001, dtype=np.float32)
    np.testing.assert_allclose(compiled(loop, x), function(x), rtol=2e-7)
