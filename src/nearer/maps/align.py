"""How a map lies on the page.

Comparisons fix a map only up to reflection, rotation, translation and (mostly) scale. `align` turns it onto
a reference, such as true geography or last week's map: orthogonal Procrustes, the SVD of the cross product
(Schönemann 1966). `orient` is for when there is none: principal axes, with signs that do not depend on how
the points happened to lie.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["align", "orient"]

Points = NDArray[np.float64]


def checked(points: ArrayLike, what: str = "points") -> Points:
    """Points as a fresh float array of shape (n, dims), or a ValueError that says what is wrong with them."""
    array = np.array(points, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{what}: wanted one row an object, shape (n, dims), got shape {np.shape(points)}")
    if len(array) == 0:
        raise ValueError(f"{what}: there are none")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(f"{what}: row {bad[0]} is {array[bad[0]].tolist()}, wanted finite numbers")
    return array


def align(points: ArrayLike, reference: ArrayLike, *, scale: bool = True) -> Points:
    """Reflect, rotate, scale and move points onto a reference.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points.
    reference : array of shape (n, dims)
        Where the same objects lie in the map to look like. The narrower of the two is padded with zeros.
    scale : bool, default True
        Whether the points may also be scaled.

    Returns
    -------
    array of shape (n, dims)
        The moved points, with the least sum of squared distances to the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.maps import align
    >>> square = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> mirrored = 3 * square[:, ::-1] + 7
    >>> bool(np.allclose(align(mirrored, square), square))
    True
    """
    moved, target = checked(points), checked(reference, "reference")
    if len(moved) != len(target):
        raise ValueError(f"reference: {len(target)} rows for {len(moved)} points, wanted one for each")
    dims = max(moved.shape[1], target.shape[1])
    moved, target = (np.pad(array, [(0, 0), (0, dims - array.shape[1])]) for array in (moved, target))
    centre = target.mean(axis=0)
    moved -= moved.mean(axis=0)
    left, strengths, right = np.linalg.svd(moved.T @ (target - centre))
    size = np.sum(moved**2)
    factor = strengths.sum() / size if scale and size > 0 else 1.0
    return factor * (moved @ left @ right) + centre


def orient(points: ArrayLike) -> Points:
    """Turn points onto their principal axes, always the same way round.

    The widest axis comes first. The sign of each axis is such that the object farthest out along it is on the
    positive side; so the same map, however it was turned or mirrored, looks the same.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points.

    Returns
    -------
    array of shape (n, dims)
        The same points, centred and turned; distances between them are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.maps import orient
    >>> line = np.array([[0, 0], [0, -1], [0, -5]])
    >>> (orient(line).round(6) + 0.0).tolist()
    [[-2.0, 0.0], [-1.0, 0.0], [3.0, 0.0]]
    """
    centred = checked(points)
    centred -= centred.mean(axis=0)
    turned = centred @ np.linalg.svd(centred.T @ centred)[0]
    reach = np.abs(turned)
    # The first of the farthest, with room for rounding, so that a symmetric map does not flip by chance.
    farthest = np.argmax(reach >= reach.max(axis=0) * (1 - 1e-9), axis=0)
    signs = np.sign(turned[farthest, np.arange(turned.shape[1])])
    return turned * np.where(signs == 0, 1.0, signs)
