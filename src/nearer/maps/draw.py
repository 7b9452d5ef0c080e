"""A map as a picture: png, svg or pdf, through matplotlib.

Only matplotlib's objects are used, never pyplot, so that drawing changes nothing in a notebook or a server
that draws too. Names are data: a dollar sign in one is a dollar sign, not mathematics.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer.maps.labels import place_labels, spread
from nearer.maps.plane import PALETTE, Plane, plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

INK, FAINT, PAPER = "#1f2733", "#8b95a3", "#ffffff"
LABELS_ALL, LABELS_SOME = 120, 1000  # up to the first every label is drawn; beyond the second none
LEGEND_ROWS = 24
WIDTH, TALLEST, MARGIN, HEADER = 9.0, 11.0, 0.55, 0.75  # inches
MARKERS = "osD^vP"  # after one turn through the palette the shape changes


def draw(
    points: ArrayLike,
    names: Iterable[object] | None = None,
    *,
    groups: Iterable[object] | None = None,
    title: str | None = None,
    reference: ArrayLike | None = None,
) -> "Figure":
    """Draw a map of learned points.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points. One dimension is drawn on a line; of three and more the first two principal axes
        are shown, and the picture says so.
    names : sequence of str, optional
        One an object; by default its number.
    groups : sequence of str, optional
        One an object: colours, and a legend.
    title : str, optional
        Stands above the map.
    reference : array of shape (n, 1, 2 or more), optional
        Where the objects truly are. The map is turned onto it and it is drawn as faint rings, with a thin
        line from each ring to the learned point.

    Returns
    -------
    matplotlib.figure.Figure
        Use ``figure.savefig(path)`` to write it.

    Examples
    --------
    >>> from nearer.datasets import europe
    >>> from nearer.maps import draw
    >>> cities = europe()
    >>> figure = draw(cities.points, cities.names, groups=cities.regions, title="Europe")
    >>> len(figure.axes)
    1
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('pictures of maps need matplotlib: pip install "nearer[maps]"') from error
    shown = plane(points, names, groups=groups, reference=reference)
    width, height = _page(shown)
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    FigureCanvasAgg(figure)
    axes = _axes(figure, shown, width, height)
    _header(figure, shown, title)
    if shown.reference is not None:
        _ghosts(axes, shown, shown.reference)
    if shown.is_line:
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    _dots(axes, shown)
    figure.draw_without_rendering()
    if shown.is_line:
        _names_on_a_line(axes, shown)
    else:
        _names(axes, shown)
    return figure


def _page(shown: Plane) -> tuple[float, float]:
    """Width and height in inches, near the shape of the map."""
    extent = np.ptp(_everything(shown), axis=0)
    shape = extent[1] / extent[0] if extent[0] > 0 else 1.0
    height = WIDTH * 0.42 if shown.is_line else (WIDTH - 2 * MARGIN) * shape + 2 * MARGIN + HEADER
    return WIDTH + (1.6 if shown.groups else 0.0), float(np.clip(height, 3.6, TALLEST))


def _everything(shown: Plane) -> np.ndarray:
    return shown.points if shown.reference is None else np.concatenate([shown.points, shown.reference])


def _axes(figure: Any, shown: Plane, width: float, height: float) -> Any:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    low, high = _everything(shown).min(axis=0), _everything(shown).max(axis=0)
    legend = width - WIDTH
    room = np.array([WIDTH - 2 * MARGIN, height - 2 * MARGIN - HEADER])
    # Units an inch, the same along both axes; names on a line stand above it, so the line lies low.
    unit = float(np.max((high - low) / room)) or 1.0
    centre = (low + high) / 2
    lift = -0.27 * height if shown.is_line else 0.0
    corner = centre - unit * np.array([WIDTH / 2, (height - HEADER) / 2 + lift])
    axes.set_xlim(corner[0], corner[0] + unit * (WIDTH + legend))
    axes.set_ylim(corner[1], corner[1] + unit * height)
    axes.set_aspect("equal")
    return axes


def _header(figure: Any, shown: Plane, title: str | None) -> None:
    left, height = 0.35 / figure.get_figwidth(), figure.get_figheight()
    if title:
        figure.text(left, 1 - 0.28 / height, title, size=17, weight="bold", color=INK, va="top", parse_math=False)
    note = shown.subtitle + ("   ○ reference" if shown.reference is not None else "")
    figure.text(left, 1 - (0.64 if title else 0.3) / height, note, size=9, color=FAINT, va="top")


def _ghosts(axes: Any, shown: Plane, reference: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    lines = list(np.stack([reference, shown.points], axis=1))
    axes.add_collection(LineCollection(lines, colors=FAINT, linewidths=0.7, zorder=1), autolim=False)
    axes.scatter(*reference.T, s=20, facecolors=PAPER, edgecolors=FAINT, linewidths=0.9, zorder=2)


def _dots(axes: Any, shown: Plane) -> None:
    size = float(np.clip(4000 / len(shown.points), 5, 38))
    style = {"s": size, "edgecolors": PAPER, "linewidths": 0.6 if size > 15 else 0.2, "zorder": 3}
    if shown.groups is None:
        axes.scatter(*shown.points.T, c=PALETTE[0], **style)
        return
    member, handles = np.array(shown.groups, dtype=object), []
    for rank, group in enumerate(shown.group_order):
        colour, marker = PALETTE[rank % len(PALETTE)], MARKERS[rank // len(PALETTE) % len(MARKERS)]
        handles.append(axes.scatter(*shown.points[member == group].T, c=colour, marker=marker, **style))
    handles = handles[:LEGEND_ROWS]
    legend = axes.legend(
        handles,
        [f"group {i}" for i in range(len(handles))],
        loc="center right",
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        markerscale=max(1.0, (30 / size) ** 0.5),
        handletextpad=0.2,
    )
    for text, group in zip(legend.get_texts(), shown.group_order, strict=False):
        text.set_parse_math(False)
        text.set_text(_short(group, 22))
    if len(shown.group_order) > LEGEND_ROWS:
        legend.set_title(f"{LEGEND_ROWS} of {len(shown.group_order)} groups", prop={"size": 8})


def _short(text: str, most: int = 40) -> str:
    """One line of at most that many characters, with a mark in place of what no font can draw."""
    text = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def _names(axes: Any, shown: Plane) -> None:
    from matplotlib.patheffects import withStroke

    n = len(shown.points)
    if n > LABELS_SOME:
        return
    style = {"size": 8.5 if n <= 80 else 7.0, "color": INK, "zorder": 4, "parse_math": False}
    halo = [withStroke(linewidth=1.8, foreground=PAPER)]
    texts = [
        axes.annotate(_short(name), point, (0, 0), textcoords="offset points", path_effects=halo, **style)
        for name, point in zip(shown.names, shown.points, strict=True)
    ]
    renderer = axes.figure.canvas.get_renderer()
    extents = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([(box.width, box.height) for box in extents])
    pixels = axes.transData.transform(shown.points)
    page = (axes.bbox.width - (axes.figure.dpi * 1.6 if shown.groups else 0), axes.bbox.height)
    avoid = None if shown.reference is None else axes.transData.transform(shown.reference)
    gap = 6.0 * axes.figure.dpi / 100
    corners = place_labels(pixels, sizes, page, avoid=avoid, gap=gap, keep_all=n <= LABELS_ALL)
    for text, box, pixel, corner in zip(texts, extents, pixels, corners, strict=True):
        if corner is None:
            text.remove()
            continue
        # Offsets in points, so that the picture keeps its look at any resolution.
        text.set_position((corner - (box.x0, box.y0)) * 72 / axes.figure.dpi)
        _leader(axes, pixel, corner, corner + np.array([box.width, box.height]))


def _leader(axes: Any, pixel: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """A thin line to a label that had to go farther off."""
    nearest = np.clip(pixel, low, high)
    if np.linalg.norm(nearest - pixel) > 9 * axes.figure.dpi / 100:
        ends = axes.transData.inverted().transform([pixel, nearest])
        axes.plot(*ends.T, color=FAINT, linewidth=0.5, zorder=2)


def _names_on_a_line(axes: Any, shown: Plane) -> None:
    """Names upright above the line, moved apart, each tied to its dot; none where they cannot fit."""
    size = min(8.0, 0.85 * 72 * (WIDTH - 0.4) / len(shown.points))
    if size < 5:
        return
    gap = size / 0.85 * axes.figure.dpi / 72
    pixels = axes.transData.transform(shown.points)
    middle = WIDTH * axes.figure.dpi / 2
    places = spread(pixels[:, 0], gap)
    places -= np.clip(places.max() - 2 * middle + gap, 0, None)
    places += np.clip(gap - places.min(), 0, None)
    high = pixels[0, 1] + 0.42 * axes.figure.dpi
    back = axes.transData.inverted().transform
    for name, pixel, place in zip(shown.names, pixels, places, strict=True):
        path = back([pixel, (place, high - 5), (place, high)])
        axes.plot(*path.T, color=FAINT, linewidth=0.5, zorder=2)
        style = {"size": size, "color": INK, "rotation": 90, "parse_math": False}
        axes.text(*path[-1], " " + _short(name, 24), ha="center", va="bottom", **style)
