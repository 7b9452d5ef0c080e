"""The orientation of a map.

Comparisons determine a map only up to reflection, rotation, translation and (mostly) scale. `align` fits it to a
reference, such as true geography or last week's map, by orthogonal Procrustes. `orient` is for maps without a
reference: principal axes, with signs that do not depend on the orientation of the points.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.metrics.maps import superimpose

__all__ = ["align", "orient"]

Points = NDArray[np.float64]


def as_points(points: ArrayLike, name: str = "points") -> Points:
    """Return points as a new float array of shape (n, dims), validated."""
    array = np.array(points, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name}: expected one row per object, shape (n, dims); got shape {np.shape(points)}")
    if len(array) == 0:
        raise ValueError(f"{name}: there are none")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(f"{name}: row {bad[0]} is {array[bad[0]].tolist()}; expected finite numbers")
    return array


def align(points: ArrayLike, reference: ArrayLike, *, scale: bool = True) -> Points:
    """Reflect, rotate, scale and move points onto a reference.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points.
    reference : array of shape (n, dims)
        Points of the same objects to align to. The narrower of the two is padded with zeros.
    scale : bool, default True
        Whether to scale the points.

    Returns
    -------
    array of shape (n, dims)
        The moved points, whose sum of squared distances to the reference is smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.maps import align
    >>> square = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> mirrored = 3 * square[:, ::-1] + 7
    >>> bool(np.allclose(align(mirrored, square), square))
    True
    """
    moved, target = as_points(points), as_points(reference, "reference")
    if len(moved) != len(target):
        raise ValueError(f"reference: {len(target)} rows for {len(moved)} points; expected one per point")
    rotated, _, centre, strength = superimpose(moved, target)
    size = float(np.sum(rotated**2))
    return (strength / size if scale and size > 0 else 1.0) * rotated + centre


def orient(points: ArrayLike) -> Points:
    """Rotate points onto their principal axes, with signs that do not depend on their orientation.

    The axis of largest variance comes first. The object farthest out along an axis is on its positive side, so the
    same map looks the same after any rotation or reflection.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points.

    Returns
    -------
    array of shape (n, dims)
        The same points, centred and rotated; distances between them are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.maps import orient
    >>> line = np.array([[0, 0], [0, -1], [0, -5]])
    >>> (orient(line).round(6) + 0.0).tolist()
    [[-2.0, 0.0], [-1.0, 0.0], [3.0, 0.0]]
    """
    centred = as_points(points)
    centred -= centred.mean(axis=0)
    rotated = centred @ np.linalg.svd(centred.T @ centred)[0]
    reach = np.abs(rotated)
    # The first of the farthest, up to rounding, so that a symmetric map does not flip by chance.
    farthest = np.argmax(reach >= reach.max(axis=0) * (1 - 1e-9), axis=0)
    signs = np.sign(rotated[farthest, np.arange(rotated.shape[1])])
    return rotated * np.where(signs == 0, 1.0, signs)
