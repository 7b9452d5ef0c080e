"""Maps of learned points: aligned, drawn as pictures, written as HTML pages.

`canvas.js` is the drawing module of all HTML pages.
"""

from nearer.maps.align import align, orient
from nearer.maps.draw import draw
from nearer.maps.export import map_html, write_map

__all__ = ["align", "draw", "map_html", "orient", "write_map"]
