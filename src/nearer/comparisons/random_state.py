"""One way to make numpy's Generator from scikit-learn's random_state."""

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a numpy Generator for whatever scikit-learn accepts as random_state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def child_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator independent of one that a user creates from the same seed."""
    # Points simulated with seed 0 and a map fitted with seed 0 would otherwise start at the very points to be found.
    return as_generator(random_state).spawn(1)[0]


def resumed_generator(random_state: RandomState, n_steps: int) -> np.random.Generator:
    """Return a `child_generator` that differs with the steps taken, so that no ``partial_fit`` repeats its draws."""
    if n_steps and isinstance(random_state, int | np.integer):
        return np.random.default_rng([int(random_state), n_steps]).spawn(1)[0]
    return child_generator(random_state)
