"""A map as a picture: png, svg or pdf, by matplotlib.

Only matplotlib's objects are used, never pyplot, so that drawing does not change the state of a notebook or
server. A dollar sign in a name is a dollar sign, not mathematics.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer.maps.labels import choose_apart, label_order, place_labels, spread
from nearer.maps.plane import PALETTE, Labels, Places, Plane, Title, Weights, Words, check_labels, to_plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, FAINT, PAPER = "#1f2733", "#8b95a3", "#ffffff"
MOST_TRIES = 2500  # objects of a very large map whose names are measured
LEGEND_ROWS = 24
WIDTH, TALLEST, MARGIN, HEADER, EDGE = 9.0, 11.0, 0.55, 0.75, 0.15  # inches; names stay off the edge
SMALLEST, LINE_FILL = 5.0, 0.85  # on a line: the font size in points, and the part of the line that names may take
MARKERS = "osD^vP"  # the next one each time the palette is exhausted


def draw(
    points: ArrayLike,
    names: Words = None,
    *,
    groups: Words = None,
    title: Title = None,
    reference: Places = None,
    weights: Weights = None,
    labels: Labels = "auto",
) -> "Figure":
    """Draw a map of learned points.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points. One dimension is drawn on a line; of three and more the first two principal axes
        are drawn, and the picture says so.
    names, groups, title, reference, weights, labels
        As in `write_map`; a thin line connects each learned point with its reference. A line has names above it,
        connected to their points.

    Returns
    -------
    matplotlib.figure.Figure
        Use ``figure.savefig(path)`` to write it. A notebook shows it.

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
        from nearer.maps.figure import MapFigure
    except ImportError as error:
        raise ImportError('pictures of maps need matplotlib: pip install "nearer[maps]"') from error
    check_labels(labels)
    plane = to_plane(points, names, groups=groups, reference=reference, weights=weights)
    figure = MapFigure(figsize=_page_size(plane), facecolor=PAPER)
    _fill(figure, plane, title, labels)
    return figure


def plot(points: ArrayLike, names: Words = None, *, ax: Any = None, title: Title = None, **options: Any) -> Any:
    """Draw a map into axes, by default of a new figure of pyplot, and return them; other options as in `draw`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('pictures of maps need matplotlib: pip install "nearer[maps]"') from error
    labels: Labels = options.pop("labels", "auto")
    check_labels(labels)
    plane = to_plane(points, names, **options)
    if ax is None:
        return _fill(plt.figure(figsize=_page_size(plane), facecolor=PAPER), plane, title, labels)
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.1)
    if title is not None:
        ax.set_title(title, parse_math=False)
    _draw_plane(ax, plane, labels)
    return ax


def _fill(figure: Any, plane: Plane, title: Title, labels: Labels) -> Any:
    """Draw a whole page: the header, and axes that leave space for it and for the legend."""
    axes = _add_axes(figure, plane, *figure.get_size_inches())
    _draw_header(figure, plane, title)
    _draw_plane(axes, plane, labels)
    return axes


def _draw_plane(axes: Any, plane: Plane, labels: Labels) -> None:
    if plane.reference is not None:
        _draw_reference(axes, plane, plane.reference)
    if plane.is_line:
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    radii = _draw_points(axes, plane)
    if labels == "none":
        return
    axes.figure.draw_without_rendering()
    if plane.is_line:
        _draw_names_on_line(axes, plane, labels)
    else:
        _draw_names(axes, plane, labels, radii)


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


def _draw_points(axes: Any, plane: Plane) -> np.ndarray:
    """Draw the dots and the legend; return the radii of the dots in pixels."""
    size = float(np.clip(4000 / len(plane.points), 5, 38))
    areas = size * plane.scale**2
    style = {"edgecolors": PAPER, "linewidths": 0.6 if size > 15 else 0.2, "zorder": 3}
    radii = np.sqrt(areas) / 2 * axes.figure.dpi / 72
    if plane.groups is None:
        axes.scatter(*plane.points.T, s=areas, c=PALETTE[0], **style)
        return radii
    member, handles = np.array(plane.groups, dtype=object), []
    for rank, group in enumerate(plane.group_order):
        color, marker = PALETTE[rank % len(PALETTE)], MARKERS[rank // len(PALETTE) % len(MARKERS)]
        axes.scatter(*plane.points[member == group].T, s=areas[member == group], c=color, marker=marker, **style)
        handles.append(axes.scatter([], [], s=max(size, 30), c=color, marker=marker, **style))
    handles = handles[:LEGEND_ROWS]
    look = {"loc": "center right", "frameon": False, "fontsize": 9, "labelcolor": INK, "handletextpad": 0.2}
    legend = axes.legend(handles, [f"group {i}" for i in range(len(handles))], **look)
    for text, group in zip(legend.get_texts(), plane.group_order, strict=False):
        text.set_parse_math(False)
        text.set_text(_shorten(group, 22))
    if len(plane.group_order) > LEGEND_ROWS:
        legend.set_title(f"{LEGEND_ROWS} of {len(plane.group_order)} groups", prop={"size": 8})
    return radii


def _shorten(text: str, most: int = 40) -> str:
    """Return one line of at most `most` characters, with a mark for characters that no font can draw."""
    text = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def _draw_names(axes: Any, plane: Plane, labels: Labels, radii: np.ndarray) -> None:
    from matplotlib.font_manager import FontProperties
    from matplotlib.patheffects import withStroke

    order = label_order(plane.points, plane.weights)[: None if labels == "all" else MOST_TRIES]
    font = FontProperties(size=8.5 if len(order) <= 80 else 7.0)
    texts = [_shorten(name) for name in plane.names]
    renderer = axes.figure.canvas.get_renderer()
    pixel = axes.figure.dpi / 100
    _, height, descent = renderer.get_text_width_height_descent("lp", font, False)
    sizes = np.full((len(texts), 2), height)
    for i in order:
        sizes[i, 0] = renderer.get_text_width_height_descent(texts[i], font, False)[0]
    edge, page = EDGE * axes.figure.dpi, _page(axes)
    boxes = place_labels(
        _to_pixels(axes, plane.points),
        sizes,
        radii,
        order,
        (edge, edge, page[0] - edge, page[1] - edge),
        obstacles=_obstacles(axes),
        rings=None if plane.reference is None else _to_pixels(axes, plane.reference),
        keep_all=labels == "all",
        pixel=pixel,
    )
    style = {"color": INK, "zorder": 4, "parse_math": False, "fontproperties": font, "va": "baseline"}
    halo = [withStroke(linewidth=1.8, foreground=PAPER)]
    for i, box in boxes.items():
        dot = _to_pixels(axes, plane.points[[i]])[0]
        # Offsets in points, so that the picture looks the same at any resolution.
        offset = np.array([box[0] - dot[0], dot[1] - (box[3] - descent)]) * 72 / axes.figure.dpi
        axes.annotate(texts[i], plane.points[i], offset, textcoords="offset points", path_effects=halo, **style)
        near = np.clip(dot, box[:2], box[2:])
        if np.linalg.norm(near - dot) > radii[i] + 4 * pixel:  # apart from its dot: a thin line connects them
            axes.plot(*_to_data(axes, np.array([dot, near])).T, color=FAINT, linewidth=0.5, zorder=2)


def _page(axes: Any) -> tuple[float, float]:
    return axes.bbox.width, axes.bbox.height


def _to_pixels(axes: Any, points: np.ndarray) -> np.ndarray:
    """Return points in pixels from the upper left corner of the axes."""
    return (axes.transData.transform(points) - (axes.bbox.x0, axes.bbox.y1)) * (1, -1)


def _to_data(axes: Any, pixels: np.ndarray) -> np.ndarray:
    return axes.transData.inverted().transform(pixels * (1, -1) + (axes.bbox.x0, axes.bbox.y1))


def _obstacles(axes: Any) -> list[tuple[float, float, float, float]]:
    """Return the boxes of what else is written on the axes or on the page: the legend and the header."""
    boxes = [text.get_window_extent() for text in axes.figure.texts]
    if axes.get_legend() is not None:
        boxes.append(axes.get_legend().get_window_extent())
    left, top = axes.bbox.x0, axes.bbox.y1
    return [(box.x0 - left, top - box.y1, box.x1 - left, top - box.y0) for box in boxes]


def _draw_names_on_line(axes: Any, plane: Plane, labels: Labels) -> None:
    """Draw names vertically above the line: all, moved apart and connected to their dots, or else those that fit."""
    width = axes.bbox.width - (1.6 * axes.figure.dpi if plane.groups else 0)
    n, per_point = len(plane.points), axes.figure.dpi / 72
    fits = n <= width / per_point * LINE_FILL / SMALLEST
    size = min(8.0, LINE_FILL * width / per_point / n) if fits or labels == "all" else SMALLEST
    gap = size / LINE_FILL * per_point
    dots = _to_pixels(axes, plane.points)
    if fits or labels == "all":
        shown, places = np.arange(n), spread(dots[:, 0], gap)
        places -= np.clip(places.max() - width + gap / 2, 0, None)
        places += np.clip(gap / 2 - places.min(), 0, None)
    else:
        shown = choose_apart(dots[:, 0], gap, label_order(plane.points, plane.weights))
        places = dots[shown, 0]
    top = dots[0, 1] - 0.42 * axes.figure.dpi
    for i, place in zip(shown, places, strict=True):
        path = _to_data(axes, np.array([dots[i], (place, top + 5), (place, top)]))
        axes.plot(*path.T, color=FAINT, linewidth=0.5, zorder=2)
        style = {"size": size, "color": INK, "rotation": 90, "parse_math": False}
        axes.text(*path[-1], " " + _shorten(plane.names[i], 24), ha="center", va="bottom", **style)
