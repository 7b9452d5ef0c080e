"""A map as a picture: png, svg or pdf, by matplotlib.

Only matplotlib's objects are used, never pyplot, so that drawing does not change the state of a notebook or
server. A dollar sign in a name is a dollar sign, not mathematics.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer.maps.labels import place_labels, spread
from nearer.maps.plane import PALETTE, Places, Plane, Title, Words, to_plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, FAINT, PAPER = "#1f2733", "#8b95a3", "#ffffff"
LABELS_ALL, LABELS_SOME = 120, 1000  # all labels are drawn up to the first, none beyond the second
LEGEND_ROWS = 24
WIDTH, TALLEST, MARGIN, HEADER = 9.0, 11.0, 0.55, 0.75  # inches
MARKERS = "osD^vP"  # the next one each time the palette is exhausted


def draw(
    points: ArrayLike, names: Words = None, *, groups: Words = None, title: Title = None, reference: Places = None
) -> "Figure":
    """Draw a map of learned points.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points. One dimension is drawn on a line; of three and more the first two principal axes
        are drawn, and the picture says so.
    names, groups, title, reference
        As in `write_map`; a thin line connects each learned point with its reference.

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
    plane = to_plane(points, names, groups=groups, reference=reference)
    width, height = _page_size(plane)
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    FigureCanvasAgg(figure)
    axes = _add_axes(figure, plane, width, height)
    _draw_header(figure, plane, title)
    if plane.reference is not None:
        _draw_reference(axes, plane, plane.reference)
    if plane.is_line:
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    _draw_points(axes, plane)
    figure.draw_without_rendering()
    (_draw_names_on_line if plane.is_line else _draw_names)(axes, plane)
    return figure


def _page_size(plane: Plane) -> tuple[float, float]:
    """Return width and height in inches, close to the shape of the map."""
    extent = np.ptp(plane.all_points, axis=0)
    shape = extent[1] / extent[0] if extent[0] > 0 else 1.0
    height = WIDTH * 0.42 if plane.is_line else (WIDTH - 2 * MARGIN) * shape + 2 * MARGIN + HEADER
    return WIDTH + (1.6 if plane.groups else 0.0), float(np.clip(height, 3.6, TALLEST))


def _add_axes(figure: Any, plane: Plane, width: float, height: float) -> Any:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    low, high = plane.all_points.min(axis=0), plane.all_points.max(axis=0)
    legend = width - WIDTH
    space = np.array([WIDTH - 2 * MARGIN, height - 2 * MARGIN - HEADER])
    # Units per inch, the same along both axes; a line is drawn low, to leave space for the names above it.
    unit = float(np.max((high - low) / space)) or 1.0
    center = (low + high) / 2
    lift = -0.27 * height if plane.is_line else 0.0
    corner = center - unit * np.array([WIDTH / 2, (height - HEADER) / 2 + lift])
    axes.set_xlim(corner[0], corner[0] + unit * (WIDTH + legend))
    axes.set_ylim(corner[1], corner[1] + unit * height)
    axes.set_aspect("equal")
    return axes


def _draw_header(figure: Any, plane: Plane, title: str | None) -> None:
    left, height = 0.35 / figure.get_figwidth(), figure.get_figheight()
    if title:
        figure.text(left, 1 - 0.28 / height, title, size=17, weight="bold", color=INK, va="top", parse_math=False)
    note = plane.subtitle + ("   ○ reference" if plane.reference is not None else "")
    figure.text(left, 1 - (0.64 if title else 0.3) / height, note, size=9, color=FAINT, va="top")


def _draw_reference(axes: Any, plane: Plane, reference: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    lines = list(np.stack([reference, plane.points], axis=1))
    axes.add_collection(LineCollection(lines, colors=FAINT, linewidths=0.7, zorder=1), autolim=False)
    axes.scatter(*reference.T, s=20, facecolors=PAPER, edgecolors=FAINT, linewidths=0.9, zorder=2)


def _draw_points(axes: Any, plane: Plane) -> None:
    size = float(np.clip(4000 / len(plane.points), 5, 38))
    style = {"s": size, "edgecolors": PAPER, "linewidths": 0.6 if size > 15 else 0.2, "zorder": 3}
    if plane.groups is None:
        axes.scatter(*plane.points.T, c=PALETTE[0], **style)
        return
    member, handles = np.array(plane.groups, dtype=object), []
    for rank, group in enumerate(plane.group_order):
        color, marker = PALETTE[rank % len(PALETTE)], MARKERS[rank // len(PALETTE) % len(MARKERS)]
        handles.append(axes.scatter(*plane.points[member == group].T, c=color, marker=marker, **style))
    handles = handles[:LEGEND_ROWS]
    look = {"loc": "center right", "frameon": False, "fontsize": 9, "labelcolor": INK, "handletextpad": 0.2}
    words = [f"group {i}" for i in range(len(handles))]
    legend = axes.legend(handles, words, markerscale=max(1.0, (30 / size) ** 0.5), **look)
    for text, group in zip(legend.get_texts(), plane.group_order, strict=False):
        text.set_parse_math(False)
        text.set_text(_shorten(group, 22))
    if len(plane.group_order) > LEGEND_ROWS:
        legend.set_title(f"{LEGEND_ROWS} of {len(plane.group_order)} groups", prop={"size": 8})


def _shorten(text: str, most: int = 40) -> str:
    """Return one line of at most `most` characters, with a mark for characters that no font can draw."""
    text = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def _draw_names(axes: Any, plane: Plane) -> None:
    from matplotlib.patheffects import withStroke

    n = len(plane.points)
    if n > LABELS_SOME:
        return
    style = {"size": 8.5 if n <= 80 else 7.0, "color": INK, "zorder": 4, "parse_math": False}
    halo = [withStroke(linewidth=1.8, foreground=PAPER)]
    texts = [
        axes.annotate(_shorten(name), point, (0, 0), textcoords="offset points", path_effects=halo, **style)
        for name, point in zip(plane.names, plane.points, strict=True)
    ]
    renderer = axes.figure.canvas.get_renderer()
    extents = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([(box.width, box.height) for box in extents])
    pixels = axes.transData.transform(plane.points)
    page = (axes.bbox.width - (axes.figure.dpi * 1.6 if plane.groups else 0), axes.bbox.height)
    avoid = None if plane.reference is None else axes.transData.transform(plane.reference)
    gap = 6.0 * axes.figure.dpi / 100
    corners = place_labels(pixels, sizes, page, avoid=avoid, gap=gap, keep_all=n <= LABELS_ALL)
    for text, box, pixel, corner in zip(texts, extents, pixels, corners, strict=True):
        if corner is None:
            text.remove()
            continue
        # Offsets in points, so that the picture looks the same at any resolution.
        text.set_position((corner - (box.x0, box.y0)) * 72 / axes.figure.dpi)
        _draw_leader(axes, pixel, corner, corner + np.array([box.width, box.height]))


def _draw_leader(axes: Any, pixel: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Draw a thin line to a label that is far from its point."""
    nearest = np.clip(pixel, low, high)
    if np.linalg.norm(nearest - pixel) > 9 * axes.figure.dpi / 100:
        ends = axes.transData.inverted().transform([pixel, nearest])
        axes.plot(*ends.T, color=FAINT, linewidth=0.5, zorder=2)


def _draw_names_on_line(axes: Any, plane: Plane) -> None:
    """Draw names vertically above the line, moved apart and connected to their points; none if they do not fit."""
    size = min(8.0, 0.85 * 72 * (WIDTH - 0.4) / len(plane.points))
    if size < 5:
        return
    gap = size / 0.85 * axes.figure.dpi / 72
    pixels = axes.transData.transform(plane.points)
    middle = WIDTH * axes.figure.dpi / 2
    places = spread(pixels[:, 0], gap)
    places -= np.clip(places.max() - 2 * middle + gap, 0, None)
    places += np.clip(gap - places.min(), 0, None)
    high = pixels[0, 1] + 0.42 * axes.figure.dpi
    back = axes.transData.inverted().transform
    for name, pixel, place in zip(plane.names, pixels, places, strict=True):
        path = back([pixel, (place, high - 5), (place, high)])
        axes.plot(*path.T, color=FAINT, linewidth=0.5, zorder=2)
        style = {"size": size, "color": INK, "rotation": 90, "parse_math": False}
        axes.text(*path[-1], " " + _shorten(name, 24), ha="center", va="bottom", **style)
