"""One way to turn scikit-learn's random_state into numpy's Generator."""

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a numpy Generator from whatever scikit-learn calls a random_state.

    Examples
    --------
    >>> int(generator(0).integers(100)) == int(generator(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def continued_random(random_state: RandomState, taken: int) -> np.random.Generator:
    """Return what `own_random` does, but other numbers for each number of steps that were taken before.

    A learner that is called again and again with the same seed would otherwise draw the same each time.

    Examples
    --------
    >>> float(continued_random(0, 0).random()) == float(own_random(0).random())
    True
    >>> float(continued_random(0, 7).random()) == float(own_random(0).random())
    False
    """
    if taken and isinstance(random_state, int | np.integer):
        return np.random.default_rng([int(random_state), taken]).spawn(1)[0]
    return own_random(random_state)


def own_random(random_state: RandomState) -> np.random.Generator:
    """Return a generator that shares no numbers with one that a user makes from the same seed.

    Points simulated with seed 0 and a map fitted with seed 0 would otherwise start at the very points to be found.

    Examples
    --------
    >>> float(own_random(0).random()) == float(generator(0).random())
    False
    """
    return generator(random_state).spawn(1)[0]
