"""Messages about constructor parameters."""

import pytest

from nearer.embedding import SVRG
from nearer.parameters import BOOL, COUNT, NONE, POSITIVE, check_parameters, either, one_of


@pytest.mark.parametrize(
    ("constraint", "wanted"),
    [
        (one_of("a"), "'a'"),
        (one_of("a", "b", "c"), "'a', 'b' or 'c'"),
        (either(NONE, COUNT), "None or a positive integer"),
        (either(one_of("a", "b"), POSITIVE), "'a', 'b' or a number > 0"),
        (either(NONE, BOOL), "None, True or False"),
    ],
)
def test_alternatives_are_joined_by_one_or(constraint, wanted):
    assert constraint.wanted == wanted


def test_the_message_names_the_parameter_what_it_may_be_and_what_it_is():
    with pytest.raises(ValueError, match="SVRG's step_size must be 'sbb', 'fixed' or a number > 0; got 'fast'"):
        check_parameters(SVRG(step_size="fast"))
