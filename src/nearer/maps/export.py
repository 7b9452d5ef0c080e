"""A map as a file: an HTML page of its own, or a picture, by the suffix of the path.

The page is one file that opens offline: template, style, scripts and data in one. Names are data and stay
inert: text in the page is escaped, the data is JSON without a single ``<``, and the page's policy allows
only its own two inline blocks, by their hashes, and no connection anywhere.
"""

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from nearer import __version__
from nearer.files import replacing
from nearer.maps.align import Points
from nearer.maps.draw import draw
from nearer.maps.plane import PALETTE, Plane, plane

__all__ = ["map_html", "write_map"]

PICTURES = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
PAGES = (".html", ".htm")
CANVAS_SCRIPTS = ("marks.js", "labels.js", "gestures.js", "canvas.js")
DPI = 160


def write_map(
    points: ArrayLike,
    path: str | os.PathLike[str],
    names: Iterable[object] | None = None,
    *,
    groups: Iterable[object] | None = None,
    title: str | None = None,
    reference: ArrayLike | None = None,
) -> None:
    """Write a map of learned points as a picture or as an interactive HTML page.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points, in any number of dimensions: one is drawn on a line, of three and more the first
        two principal axes are shown, and the map says so.
    path : path
        Its suffix picks the kind: ``.png``, ``.svg``, ``.pdf`` (these need matplotlib) or ``.html``. A file
        that is there already is replaced at the end, in one step.
    names : sequence of str, optional
        One an object; by default its number.
    groups : sequence of str, optional
        One an object: colours, and a legend.
    title : str, optional
        Stands above the map.
    reference : array of shape (n, dims), optional
        Where the objects truly are: the map is turned onto it, and it is shown as faint rings.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from nearer.datasets import europe
    >>> from nearer.maps import write_map
    >>> cities = europe()
    >>> with TemporaryDirectory() as folder:
    ...     write_map(cities.points, Path(folder) / "europe.html", cities.names, title="Europe")
    ...     (Path(folder) / "europe.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in PAGES:
        content = map_html(points, names, groups=groups, title=title, reference=reference)
        with replacing(path) as aside:
            aside.write_bytes(content.encode("utf-8", "replace"))
    elif suffix in PICTURES:
        figure = draw(points, names, groups=groups, title=title, reference=reference)
        # No date inside, so that the same map is the same file.
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        with replacing(path) as aside:
            figure.savefig(aside, format=PICTURES[suffix], dpi=DPI, metadata=dated.get(suffix))
    else:
        known = ", ".join([*PICTURES, *PAGES])
        raise ValueError(f"{path.name}: a map is written as one of {known}, by the suffix; got {suffix or 'none'}")


def map_html(
    points: ArrayLike,
    names: Iterable[object] | None = None,
    *,
    groups: Iterable[object] | None = None,
    title: str | None = None,
    reference: ArrayLike | None = None,
) -> str:
    """Make a self-contained HTML page of an interactive map: pan, zoom, hover, find a name.

    Parameters
    ----------
    points, names, groups, title, reference
        As in `write_map`.

    Returns
    -------
    str
        The page. It opens offline and connects to nothing.

    Examples
    --------
    >>> from nearer.maps import map_html
    >>> page = map_html([[0, 0], [1, 1]], ["<b>", "other"], title="A & B")
    >>> "<title>A &amp; B</title>" in page, "<b>" in page
    (True, False)
    """
    shown = plane(points, names, groups=groups, reference=reference)
    style = _part("map.css")
    script = canvas_script() + _part("map.js")
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    slots = {
        "policy": policy,
        "generator": html.escape(f"nearer {__version__}"),
        "title": html.escape(title or "Map"),
        "subtitle": html.escape(shown.subtitle),
        "style": style,
        "data": _inert_json(_data(shown)),
        "script": script,
    }
    # One pass, so that a name or a title that looks like a slot is left alone.
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: slots[slot[1]], _part("map.html"))


def canvas_script() -> str:
    """The JavaScript that defines ``NearerMap``, for any page that shows a map."""
    return "".join(_part(name) for name in CANVAS_SCRIPTS)


def _part(name: str) -> str:
    return (files("nearer.maps") / name).read_text(encoding="utf-8")


def _hash(block: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"


def _inert_json(data: object) -> str:
    """JSON that cannot end the script block it stands in, nor open a comment or a tag there."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(shown: Plane) -> dict[str, object]:
    everything = shown.points if shown.reference is None else np.concatenate([shown.points, shown.reference])
    centre = (everything.min(axis=0) + everything.max(axis=0)) / 2
    size = float(np.ptp(everything, axis=0).max()) or 1.0

    def pairs(points: Points) -> list[list[float]]:
        """Coordinates from -0.5 to 0.5, as many digits as the deepest zoom can show."""
        return np.round((points - centre) / size, 7).tolist()

    data: dict[str, object] = {"points": pairs(shown.points), "names": shown.names, "palette": list(PALETTE)}
    if shown.groups is not None:
        data.update(groups=shown.groups, groupOrder=shown.group_order)
    if shown.reference is not None:
        data["reference"] = pairs(shown.reference)
    if shown.is_line:
        data["line"] = True
    if shown.nearest is not None:
        data["nearest"] = shown.nearest.tolist()
    return data
