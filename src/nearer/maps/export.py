"""A map as a file: an HTML page or a picture, by the suffix of the path.

The page is one file that opens offline, with template, style, scripts and data. Names cannot inject code: text is
escaped, the data is JSON without any ``<``, and the page's security policy allows only its own two inline blocks,
by their hashes, and no connections.
"""

import base64
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer import __version__
from nearer.files import replacing
from nearer.maps.draw import draw
from nearer.maps.labels import label_order
from nearer.maps.plane import (
    PALETTE,
    Labels,
    Places,
    Plane,
    Points,
    Title,
    Weights,
    Words,
    check_labels,
    to_plane,
)

PICTURES = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
PAGES = (".html", ".htm")
CANVAS_SCRIPTS = ("marks.js", "place.js", "labels.js", "gestures.js", "canvas.js")
DPI = 160


def write_map(
    points: ArrayLike,
    path: str | os.PathLike[str],
    names: Words = None,
    *,
    groups: Words = None,
    title: Title = None,
    reference: Places = None,
    weights: Weights = None,
    labels: Labels = "auto",
) -> None:
    """Write a map of learned points as a picture or as an interactive HTML page.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points. One dimension is drawn on a line; of three and more the first two principal axes are
        shown, and the map says so.
    path : path
        The suffix selects the format: ``.png``, ``.svg``, ``.pdf`` (these need matplotlib) or ``.html``. An
        existing file is replaced at the end, in one step.
    names : sequence of str, optional
        One per object; by default its number.
    groups : sequence of str, optional
        One per object: colors, and a legend.
    title : str, optional
        Title above the map.
    reference : array of shape (n, dims), optional
        True positions: the map is aligned to it, and it is shown as faint rings.
    weights : array of shape (n,), optional
        The importance of each object, at least 0: heavier objects have larger dots and are named before others.
    labels : {"auto", "all", "none"}, default "auto"
        Which names are shown. "auto" shows those that fit, isolated objects first, so that every name is nearer to
        its own dot than to any other; a page shows more as one zooms in. With "all" names may overlap.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from nearer.datasets import europe
    >>> from nearer.maps import write_map
    >>> cities = europe()
    >>> with TemporaryDirectory() as folder:
    ...     write_map(cities.points, f"{folder}/europe.html", cities.names, title="Europe")
    ...     Path(folder, "europe.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    options: dict[str, Any] = {"groups": groups, "title": title, "reference": reference}
    options |= {"weights": weights, "labels": labels}
    if suffix in PAGES:
        content = map_html(points, names, **options)
        with replacing(path) as temporary:
            temporary.write_bytes(content.encode("utf-8", "replace"))
    elif suffix in PICTURES:
        figure = draw(points, names, **options)
        # Without a date, so that the same map is the same file.
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        with replacing(path) as temporary:
            figure.savefig(temporary, format=PICTURES[suffix], dpi=DPI, metadata=dated.get(suffix))
    else:
        known = ", ".join([*PICTURES, *PAGES])
        raise ValueError(f"{path.name}: the suffix of a map must be one of {known}; got {suffix or 'none'}")


class Page(str):
    """The text of an HTML page, which a notebook shows in a frame."""

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 600px; border: 1px solid #d9dee5; border-radius: 6px"
        return (
            f'<iframe srcdoc="{html.escape(self)}" style="{style}" sandbox="allow-scripts" title="map"></iframe>'
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"<map: {len(self):,} characters of HTML>")  # a notebook keeps this text beside the frame


def map_html(
    points: ArrayLike,
    names: Words = None,
    *,
    groups: Words = None,
    title: Title = None,
    reference: Places = None,
    weights: Weights = None,
    labels: Labels = "auto",
) -> Page:
    """Return a self-contained HTML page with an interactive map: pan, zoom, hover, search for a name.

    Parameters
    ----------
    points, names, groups, title, reference, weights, labels
        As in `write_map`.

    Returns
    -------
    str
        The page. It opens offline and makes no connections. A notebook shows the map.

    Examples
    --------
    >>> from nearer.maps import map_html
    >>> page = map_html([[0, 0], [1, 1]], ["<b>", "other"], title="A & B")
    >>> "<title>A &amp; B</title>" in page, "<b>" in page
    (True, False)
    """
    check_labels(labels)
    plane = to_plane(points, names, groups=groups, reference=reference, weights=weights)
    style, script = _read("map.css"), canvas_script() + _read("map.js")
    slots = {
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}",
        "generator": html.escape(f"nearer {__version__}"),
        "title": html.escape(title or "Map"),
        "subtitle": html.escape(plane.subtitle),
        "style": style,
        "data": _inert_json(_as_data(plane, labels)),
        "script": script,
    }
    # One pass, so that a name or a title that looks like a slot is not replaced.
    return Page(re.sub(r"\{\{(\w+)\}\}", lambda slot: slots[slot[1]], _read("map.html")))


def canvas_script() -> str:
    """Return the JavaScript that defines ``NearerMap``, for any page with a map."""
    return "".join(_read(name) for name in CANVAS_SCRIPTS)


def _read(name: str) -> str:
    return (files("nearer.maps") / name).read_text(encoding="utf-8")


def _hash(block: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"


def _inert_json(data: object) -> str:
    """Return JSON that can neither end its script block nor open a comment or a tag in it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _as_data(plane: Plane, labels: Labels) -> dict[str, object]:
    low, high = plane.all_points.min(axis=0), plane.all_points.max(axis=0)
    center, size = (low + high) / 2, float((high - low).max()) or 1.0

    def pairs(points: Points) -> list[list[float]]:
        """Return coordinates from -0.5 to 0.5 with the digits that the deepest zoom can show."""
        return np.round((points - center) / size, 7).tolist()

    data: dict[str, object] = {"points": pairs(plane.points), "names": plane.names, "palette": list(PALETTE)}
    if plane.groups is not None:
        data |= {"groups": plane.groups, "groupOrder": plane.group_order}
    data |= {"labels": labels, "order": label_order(plane.points, plane.weights).tolist()}
    if plane.weights is not None:
        data["scale"] = np.round(plane.scale, 3).tolist()
    if plane.reference is not None:
        data["reference"] = pairs(plane.reference)
    if plane.is_line:
        data["line"] = True
    if plane.nearest is not None:
        data["nearest"] = plane.nearest.tolist()
    return data
