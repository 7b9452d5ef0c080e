"""ERKLE's projection for many objects, where an eigenproblem per step would dominate the cost.

Beside K the inverse M = (K + εI)⁻¹ is kept up to date by rank-one terms. K⁺ = K + ω p pᵀ is semidefinite, so the
eigenvector of the one negative eigenvalue μ of K⁺ - ω u uᵀ is (K⁺ - μI)⁻¹u, which is in the Krylov space of u and
M. Lanczos' method needs some ten products there, whatever n is: apart from μ's place, the spectrum of M lies in
(0, 1/ε]. It converges fastest for ε near |μ|, so ε follows the recent sizes. Each eigenvector is checked against K
itself by one more product; if it fails (the inverse has drifted, or ε is far off), the inverse is recomputed.
"""

from collections import deque
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack

from nearer.jit import bind
from nearer.kernel import loops
from nearer.kernel.psd_kernel import EigenvalueBound
from nearer.kernel.steps import Direction
from nearer.kernel.symmetric import UpdatedMatrix

FLOOR = 1e-10  # eigenvalues above -FLOOR * trace count as zero
RESIDUAL = 1e-11  # an eigenvector is accurate enough if its residual is below RESIDUAL * trace
MAX_PRODUCTS = 100
FIRST_SHIFT = 1 / 15  # of the first step that needs an inverse: a typical |μ|
INTERVAL = 16  # projections between two checks of the shift, which look back on eight times as many
N_COUNTS = 10_000  # counts of products to keep
MAX_DRIFT = 1e-7  # error of the inverse, on a unit vector, above which it is recomputed
INVERSE_COST, HORIZON = 250, 250  # cost of a new inverse in products, and projections in which it has to pay


class LargeKernel:
    """A kernel of many objects that takes steps; it owns the positive semidefinite matrix that it starts from."""

    def __init__(self, matrix: np.ndarray, bound: EigenvalueBound, shift: float = 0.0) -> None:
        self.bound = bound
        self.shift = shift  # ε; 0 to choose it
        self.products: deque[int] = deque(maxlen=N_COUNTS)  # with an n × n matrix, of the last eigenproblems
        self.n_inverses = 0
        self._matrix = UpdatedMatrix(matrix)
        self._trace = self._matrix.trace()
        self._inverse: UpdatedMatrix | None = None
        self._sizes: deque[float] = deque(maxlen=INTERVAL * 8)
        self._lanczos = Lanczos(len(matrix))

    def submatrix(self, objects: list[int]) -> np.ndarray:
        """Return the entries of some rows and columns."""
        return self._matrix.submatrix(objects)

    def to_array(self) -> np.ndarray:
        """Return a copy of the kernel."""
        return self._matrix.to_array()

    def reset(self) -> None:
        """Drop all that is derived, as if the kernel had just been made of ``to_array()``."""
        self._matrix.flush()
        self._trace = self._matrix.trace()
        self._inverse = None
        self._sizes.clear()

    def step(self, objects: list[int], direction: Direction, step_size: float) -> None:
        """Take a step and project."""
        try:
            self._step(objects, direction, direction.eigenvalue * step_size)
        except BaseException:  # an interruption may have come between matrix and inverse
            self._inverse = None
            raise

    def _step(self, objects: list[int], direction: Direction, omega: float) -> None:
        up, down = direction.up, direction.down
        lower = max(0.0, self.bound.value)
        skip = self.bound.lower(omega)
        if self._inverse is not None:
            image = self._inverse.sparse_product(objects, up)
            self._inverse.add_rank_one(image, -omega / (1.0 + omega * (up @ image[objects])))
        self._matrix.add_submatrix(objects, omega * direction.up_up)
        eigenvalue, vector = 0.0, None
        if not skip:
            eigenvalue, vector = self._negative_eigenpair(objects, down, omega, lower)
            self.bound.value = 0.0
        if self._inverse is not None:
            self._downdate_inverse(self._inverse, objects, down, omega, eigenvalue, vector)
        if vector is not None:  # first, so that an interruption leaves a kernel that is too large, not indefinite
            self._matrix.add_rank_one(vector, -eigenvalue)
            self._trace -= eigenvalue
        self._matrix.add_submatrix(objects, -omega * direction.down_down)
        if vector is not None:
            self._adapt_shift(-eigenvalue)

    def _negative_eigenpair(
        self, objects: list[int], down: np.ndarray, omega: float, lower: float
    ) -> tuple[float, np.ndarray | None]:
        """Return the negative eigenpair of the matrix less omega * down downᵀ; 0 and None if there is none."""
        self.products.append(0)
        if self._inverse is None:
            self.shift = self.shift or omega * FIRST_SHIFT
            self._invert()
        elif self.bound.n_projections % INTERVAL == 0 and self._has_drifted(self._inverse, objects, down):
            self._invert()
        for _ in range(2):
            assert self._inverse is not None
            limits = self.shift, self._trace, lower
            sign, eigenvalue, vector = self._lanczos.run(self._inverse, objects, down, omega, limits)
            self.products[-1] += self._lanczos.size - 1
            if sign == loops.POSITIVE:
                return 0.0, None
            if sign == loops.NEGATIVE:
                residual = self._matrix.product(vector) - eigenvalue * vector
                residual[objects] -= omega * (down @ vector[objects]) * down
                self.products[-1] += 1
                if np.linalg.norm(residual) <= 10 * RESIDUAL * self._trace:
                    return eigenvalue, vector
            self.shift = max(-eigenvalue, self.shift / 100)
            self._invert()
        matrix = self._matrix.flush().copy(order="F")
        matrix[np.ix_(objects, objects)] -= omega * np.outer(down, down)
        values, vectors = eigh(matrix, subset_by_index=[0, 0], overwrite_a=True, check_finite=False)
        smallest = float(values[0])
        return (smallest, vectors[:, 0]) if smallest < 0.0 else (0.0, None)

    def _has_drifted(self, inverse: UpdatedMatrix, objects: list[int], down: np.ndarray) -> bool:
        """Whether the inverse is inaccurate, tested on one vector: nothing else checks a positive outcome."""
        image = inverse.sparse_product(objects, down)
        error = self._matrix.product(image) + self.shift * image
        error[objects] -= down
        self.products[-1] += 1
        return bool(np.linalg.norm(error) > MAX_DRIFT)

    def _downdate_inverse(
        self,
        inverse: UpdatedMatrix,
        objects: list[int],
        down: np.ndarray,
        omega: float,
        eigenvalue: float,
        vector: Any,
    ) -> None:
        """Apply -omega * down downᵀ and the projection, if there is one, to the inverse."""
        # At once: one after the other would pass through a matrix that can be nearly singular.
        image = inverse.sparse_product(objects, down)
        if vector is None:
            inverse.add_rank_one(image, omega / (1.0 - omega * (down @ image[objects])))
            return
        other = inverse.product(vector)
        self.products[-1] += 1
        cross = down @ other[objects]
        core = np.array([[down @ image[objects] - 1.0 / omega, cross], [cross, vector @ other - 1.0 / eigenvalue]])
        values, axes = np.linalg.eigh(np.linalg.inv(core))
        for value, axis in zip(values, axes.T, strict=True):
            inverse.add_rank_one(axis[0] * image + axis[1] * other, -value)

    def _adapt_shift(self, size: float) -> None:
        """Record the size of a negative eigenvalue; drop the inverse if another shift would pay for a new one."""
        self._sizes.append(size)
        if self.bound.n_projections % INTERVAL == 0:
            sizes = np.array(self._sizes)
            shifts = np.append(np.geomspace(sizes.min(), sizes.max(), 13), self.shift)
            # About how many products each of the eigenvalues would take with each of the shifts.
            condition = np.maximum(sizes / shifts[:, None], shifts[:, None] / sizes)
            products = 2.0 + 0.5 * np.sqrt(condition) * np.log(2.0 + 2.0 * sizes / (RESIDUAL * self._trace))
            costs = products.mean(axis=1)
            best = int(np.argmin(costs))
            if HORIZON * (costs[-1] - costs[best]) > INVERSE_COST:
                self.shift, self._inverse = float(shifts[best]), None

    def _invert(self) -> None:
        """Compute the inverse by Cholesky's factorization, in place."""
        self._inverse = None  # frees its memory
        self.shift = max(self.shift, 10 * FLOOR * self._trace)  # what counts as zero may be negative
        base = self._matrix.flush().copy(order="F")
        base[np.diag_indices_from(base)] += self.shift
        factor, failed = lapack.dpotrf(base, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(f"the kernel has an eigenvalue below {-self.shift:.3g}: it cannot go on")
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        self._inverse = UpdatedMatrix(inverse)
        self.n_inverses += 1

    def grow(self, n_objects: int) -> None:
        """Add objects, each a row and a column of the identity."""
        lanczos, inverse, n_new = Lanczos(n_objects), self._inverse, n_objects - len(self._matrix)
        self._inverse = None  # stays so if memory runs out
        self._matrix.grow(n_objects, 1.0)
        self._lanczos, self._trace = lanczos, self._trace + n_new
        if inverse is not None:
            inverse.grow(n_objects, 1.0 / (1.0 + self.shift))
            self._inverse = inverse


class Lanczos:
    """Lanczos' method on the inverse, with a workspace for n objects."""

    def __init__(self, n: int) -> None:
        self.size = 0  # vectors of the last run; all but the first took a product
        self._vectors = np.empty((n, MAX_PRODUCTS + 1), order="F")
        self._secular = bind(loops.secular)

    def __reduce__(self) -> tuple[Any, ...]:  # neither workspace nor machine code is pickled
        return Lanczos, (len(self._vectors),)

    def run(
        self, inverse: UpdatedMatrix, objects: list[int], down: np.ndarray, omega: float, limits: tuple[float, ...]
    ) -> tuple[int, float, np.ndarray]:
        """Return the sign of the smallest eigenvalue if it is known, the eigenvalue and its eigenvector."""
        (shift, trace, lower), basis = limits, self._vectors
        alpha, beta, c = np.zeros((3, MAX_PRODUCTS))
        basis[:, 0] = 0.0
        basis[objects, 0] = down
        for size in range(1, MAX_PRODUCTS + 1):
            last, before = basis[:, size - 1], basis[:, :size]
            new = inverse.sparse_product(objects, down) if size == 1 else inverse.product(last)
            overlap = new @ before
            new -= before @ overlap
            new -= before @ (new @ before)
            alpha[size - 1], beta[size - 1] = overlap[-1], np.sqrt(new @ new)
            sign, eigenvalue, residual = self._secular(alpha, beta, size, omega, shift, FLOOR * trace, lower, c)
            basis[:, size] = new / (beta[size - 1] or 1.0)
            if sign == loops.POSITIVE or (sign == loops.NEGATIVE and residual <= RESIDUAL * trace):
                break
        else:
            sign = loops.UNDECIDED
        self.size = size
        # The vector is T c, where T includes the row that leads out of the space.
        weights = np.zeros(size + 1)
        weights[:size] = alpha[:size] * c[:size]
        weights[: size - 1] += beta[: size - 1] * c[1:size]
        weights[1:] += beta[:size] * c[:size]
        vector = basis[:, : size + 1] @ weights
        return sign, eigenvalue, vector / np.linalg.norm(vector)
