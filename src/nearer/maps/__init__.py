"""Maps of learned points: turned so that they can be compared, drawn as pictures, written as HTML pages.

`canvas.js` beside this file is the one drawing module of the pages; the survey's dashboard uses it too.
"""

from nearer.maps.align import align, orient
from nearer.maps.draw import draw
from nearer.maps.export import map_html, write_map

__all__ = ["align", "draw", "map_html", "orient", "write_map"]
