"""One way to turn scikit-learn's random_state into numpy's Generator."""

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a numpy Generator from whatever scikit-learn calls a random_state.

    Examples
    --------
    >>> int(as_generator(0).integers(100)) == int(as_generator(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def resumed_generator(random_state: RandomState, taken: int) -> np.random.Generator:
    """Return what `child_generator` does, but other numbers for each number of steps that were taken before.

    A learner that is called again and again with the same seed would otherwise draw the same each time.

    Examples
    --------
    >>> float(resumed_generator(0, 0).random()) == float(child_generator(0).random())
    True
    >>> float(resumed_generator(0, 7).random()) == float(child_generator(0).random())
    False
    """
    if taken and isinstance(random_state, int | np.integer):
        return np.random.default_rng([int(random_state), taken]).spawn(1)[0]
    return child_generator(random_state)


def child_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator that shares no numbers with one that a user makes from the same seed.

    Points simulated with seed 0 and a map fitted with seed 0 would otherwise start at the very points to be found.

    Examples
    --------
    >>> float(child_generator(0).random()) == float(as_generator(0).random())
    False
    """
    return as_generator(random_state).spawn(1)[0]
