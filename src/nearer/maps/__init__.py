"""Maps of learned points: aligned, drawn as pictures, written as HTML pages.

`canvas.js` is the drawing module of all HTML pages.
"""

from nearer.maps.draw import draw
from nearer.maps.export import map_html, write_map
from nearer.maps.plane import align, orient

__all__ = ["align", "draw", "map_html", "orient", "write_map"]
