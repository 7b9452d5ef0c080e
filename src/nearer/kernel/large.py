"""ERKLE's projection for many objects, where an eigenproblem a step would be all the cost.

Beside K lives the inverse M = (K + εI)⁻¹, kept up to date by rank-one terms. K⁺ = K + ω p pᵀ is semidefinite, so
the eigenvector of the one negative eigenvalue μ of K⁺ - ω u uᵀ is (K⁺ - μI)⁻¹u, and it lies in the Krylov space of
u and M. There Lanczos' method needs some ten products, whatever n is: apart from μ's place, the spectrum of M lies
in (0, 1/ε]. It converges fastest for ε near |μ|, so ε follows the sizes of late. Each eigenvector is held against
K itself by one more product; when it fails (the inverse has drifted, or ε is far off), the inverse is made anew.
"""

from collections import deque
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.linalg import eigh, lapack

from nearer.jit import bind
from nearer.kernel import loops
from nearer.kernel.directions import Direction
from nearer.kernel.psd_kernel import Skipping
from nearer.kernel.symmetric import UpdatedMatrix

FLOOR = 1e-10  # eigenvalues above -FLOOR * trace count as zero
RESIDUAL = 1e-11  # an eigenvector is good enough when its residual is below RESIDUAL * trace
MOST_PRODUCTS = 100
FIRST_SHIFT = 1 / 15  # of the step that first needs an inverse: a typical |μ|
LOOK = 16  # projections after which the shift is looked at again, in the light of eight times as many
KEPT = 10_000  # counts of products
DRIFT = 1e-7  # error of the inverse, of a vector of length one, above which it is made anew
INVERSE, HORIZON = 250, 250  # products that a new inverse costs, and projections in which it has to pay


class LargeKernel:
    """A kernel of many objects that takes steps.

    Parameters
    ----------
    kernel : array of shape (n, n)
        A positive semidefinite matrix; it becomes the kernel's own.
    skipping : Skipping
        With a lower bound of its eigenvalues.
    shift : float, default=0
        ε to begin with; by default it is found.

    Attributes
    ----------
    products : deque of int
        Products with an n × n matrix that the last eigenproblems took, one number each.
    n_inverses : int
        Inverses made.
    """

    def __init__(self, kernel: np.ndarray, skipping: Skipping, shift: float = 0.0) -> None:
        self.skipping = skipping
        self.shift = shift
        self.products: deque[int] = deque(maxlen=KEPT)
        self.n_inverses = 0
        self._matrix = UpdatedMatrix(kernel)
        self._trace = self._matrix.trace()
        self._inverse: UpdatedMatrix | None = None
        self._sizes: deque[float] = deque(maxlen=LOOK * 8)
        self._lanczos = Lanczos(len(kernel))

    def at(self, objects: list[int]) -> np.ndarray:
        """Return the small matrix of these rows and columns."""
        return self._matrix.at(objects)

    def full(self) -> np.ndarray:
        """Return a copy of the kernel."""
        return self._matrix.full()

    def settle(self) -> None:
        """Come to the state of a kernel that was just made from ``full()``."""
        self._matrix.settle()
        self._trace = self._matrix.trace()
        self._inverse = None
        self._sizes.clear()

    def step(self, objects: list[int], direction: Direction, length: float) -> None:
        """Take a step of that length and project."""
        try:
            self._step(objects, direction.up, direction.down, direction.spread * length)
        except BaseException:  # an interruption may have come between matrix and inverse
            self._inverse = None
            raise

    def _step(self, objects: list[int], up: np.ndarray, down: np.ndarray, fall: float) -> None:
        bound = max(0.0, self.skipping.bound)
        skip = self.skipping.may_skip(fall)
        if self._inverse is not None:
            moved = self._inverse.combination(objects, up)
            self._inverse.add(moved, -fall / (1.0 + fall * (up @ moved[objects])))
        self._matrix.add_at(objects, fall * np.outer(up, up))
        eigenvalue, vector = 0.0, None
        if not skip:
            eigenvalue, vector = self._negative(objects, down, fall, bound)
            self.skipping.bound = 0.0
        if self._inverse is not None:
            self._lower(self._inverse, objects, down, fall, eigenvalue, vector)
        if vector is not None:  # first, so that an interruption leaves a kernel too large, not one with a hole
            self._matrix.add(vector, -eigenvalue)
            self._trace -= eigenvalue
        self._matrix.add_at(objects, -fall * np.outer(down, down))
        if vector is not None:
            self._follow(-eigenvalue)

    def _negative(
        self, objects: list[int], down: np.ndarray, fall: float, bound: float
    ) -> tuple[float, np.ndarray | None]:
        """Return the negative eigenpair of the matrix less fall * down downᵀ; 0 and None if there is none."""
        self.products.append(0)
        if self._inverse is None:
            self.shift = self.shift or fall * FIRST_SHIFT
            self._invert()
        elif self.skipping.n_projections % LOOK == 0 and self._has_drifted(self._inverse, objects, down):
            self._invert()
        for _ in range(2):
            assert self._inverse is not None
            found = self._lanczos.run(self._inverse, objects, down, fall, self.shift, self._trace, bound)
            known, eigenvalue, vector = found
            self.products[-1] += self._lanczos.size - 1
            if known == loops.POSITIVE:
                return 0.0, None
            if known == loops.NEGATIVE:
                residual = self._matrix.product(vector) - eigenvalue * vector
                residual[objects] -= fall * (down @ vector[objects]) * down
                self.products[-1] += 1
                if np.linalg.norm(residual) <= 10 * RESIDUAL * self._trace:
                    return eigenvalue, vector
            self.shift = max(-eigenvalue, self.shift / 100)
            self._invert()
        matrix = self._matrix.settle().copy(order="F")
        matrix[np.ix_(objects, objects)] -= fall * np.outer(down, down)
        values, vectors = eigh(matrix, subset_by_index=[0, 0], overwrite_a=True, check_finite=False)
        lowest = float(values[0])
        return (lowest, vectors[:, 0]) if lowest < 0.0 else (0.0, None)

    def _has_drifted(self, inverse: UpdatedMatrix, objects: list[int], down: np.ndarray) -> bool:
        """Whether the inverse is one no longer, seen on one vector. A proof that all is well rests on it alone."""
        image = inverse.combination(objects, down)
        back = self._matrix.product(image) + self.shift * image
        back[objects] -= down
        self.products[-1] += 1
        return bool(np.linalg.norm(back) > DRIFT)

    def _lower(
        self,
        inverse: UpdatedMatrix,
        objects: list[int],
        down: np.ndarray,
        fall: float,
        eigenvalue: float,
        vector: np.ndarray | None,
    ) -> None:
        """Take fall * down downᵀ from the matrix that is inverted, and the projection if there is one, at once.

        One after the other would pass through a matrix that can be all but singular.
        """
        moved = inverse.combination(objects, down)
        if vector is None:
            inverse.add(moved, fall / (1.0 - fall * (down @ moved[objects])))
            return
        turned = inverse.product(vector)
        self.products[-1] += 1
        both = down @ turned[objects]
        core = np.array([[down @ moved[objects] - 1.0 / fall, both], [both, vector @ turned - 1.0 / eigenvalue]])
        values, axes = np.linalg.eigh(np.linalg.inv(core))
        for value, axis in zip(values, axes.T, strict=True):
            inverse.add(axis[0] * moved + axis[1] * turned, -value)

    def _follow(self, size: float) -> None:
        """Note the size of a negative eigenvalue; drop the inverse where another shift would pay for a new one."""
        self._sizes.append(size)
        if self.skipping.n_projections % LOOK == 0:
            sizes = np.array(self._sizes)
            shifts = np.append(np.geomspace(sizes.min(), sizes.max(), 13), self.shift)
            costs = expected_products(sizes, shifts[:, None], RESIDUAL * self._trace).mean(axis=1)
            best = int(np.argmin(costs))
            if HORIZON * (costs[-1] - costs[best]) > INVERSE:
                self.shift, self._inverse = float(shifts[best]), None

    def _invert(self) -> None:
        """Make the inverse anew, by Cholesky's factors and in place."""
        self._inverse = None  # room for the new one
        self.shift = max(self.shift, 10 * FLOOR * self._trace)  # what counts as zero may be negative
        base = self._matrix.settle().copy(order="F")
        base[np.diag_indices_from(base)] += self.shift
        factor, failed = lapack.dpotrf(base, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(f"the kernel has an eigenvalue below {-self.shift:.3g}: it cannot go on")
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        self._inverse = UpdatedMatrix(inverse)
        self.n_inverses += 1

    def grow(self, n_objects: int) -> None:
        """Add objects that are each their own: a row and a column of the identity."""
        lanczos, inverse, new = Lanczos(n_objects), self._inverse, n_objects - len(self._matrix)
        self._inverse = None  # unless all goes well
        self._matrix.grow(n_objects, 1.0)
        self._lanczos, self._trace = lanczos, self._trace + new
        if inverse is not None:
            inverse.grow(n_objects, 1.0 / (1.0 + self.shift))
            self._inverse = inverse


def expected_products(size: np.ndarray, shift: np.ndarray, tol: float) -> np.ndarray:
    """Return about how many products an eigenvalue of that size takes with that shift.

    Examples
    --------
    >>> expected_products(np.array([0.01, 0.01, 0.0001]), np.array([0.01, 0.1, 0.01]), 1e-9).round(1)
    array([10.4, 28.6, 63. ])
    """
    condition = np.maximum(size / shift, shift / size)
    return 2.0 + 0.5 * np.sqrt(condition) * np.log(2.0 + 2.0 * size / tol)


@cache
def compiled_secular() -> Callable[..., tuple[int, float, float]]:
    """Return the secular equation, compiled; not kept with a kernel, which can be pickled."""
    return bind(loops.secular)


class Lanczos:
    """Lanczos' method on the inverse, with room for its vectors.

    Parameters
    ----------
    n : int
        Objects.

    Attributes
    ----------
    size : int
        Vectors of the last run; all but the first took a product.
    """

    def __init__(self, n: int) -> None:
        self.size = 0
        self._vectors = np.empty((n, MOST_PRODUCTS + 1), order="F")

    def run(
        self,
        inverse: UpdatedMatrix,
        objects: list[int],
        down: np.ndarray,
        fall: float,
        shift: float,
        trace: float,
        bound: float,
    ) -> tuple[int, float, np.ndarray]:
        """Return whether a negative eigenvalue is known to be there or not, which, and its eigenvector."""
        basis, secular = self._vectors, compiled_secular()
        alpha, beta, c = np.zeros((3, MOST_PRODUCTS))
        basis[:, 0] = 0.0
        basis[objects, 0] = down
        for size in range(1, MOST_PRODUCTS + 1):
            last, before = basis[:, size - 1], basis[:, :size]
            following = inverse.combination(objects, down) if size == 1 else inverse.product(last)
            overlap = following @ before
            following -= before @ overlap
            following -= before @ (following @ before)
            alpha[size - 1], beta[size - 1] = overlap[-1], np.sqrt(following @ following)
            known, eigenvalue, residual = secular(alpha, beta, size, fall, shift, FLOOR * trace, bound, c)
            basis[:, size] = following / (beta[size - 1] or 1.0)
            if known == loops.POSITIVE or (known == loops.NEGATIVE and residual <= RESIDUAL * trace):
                break
        else:
            known = loops.UNDECIDED
        self.size = size
        # The vector is T c, T with its last row, the one that leads out of the space.
        weights = np.zeros(size + 1)
        weights[:size] = alpha[:size] * c[:size]
        weights[: size - 1] += beta[: size - 1] * c[1:size]
        weights[1:] += beta[:size] * c[:size]
        vector = basis[:, : size + 1] @ weights
        return known, eigenvalue, vector / np.linalg.norm(vector)
