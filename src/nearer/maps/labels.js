/* The names on a NearerMap: as many as fit, at the best free place of eight around each point; more as one zooms in.
 * The object in hand and its neighbours come first and are always named.
 */
var nearerLabels = (function () {
  "use strict";

  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const HEIGHT = 15, MOST_LABELS = 400, MOST_TRIES = 4000, CELL = 40;
  // Right, its corners, left, above, below, the left corners.
  const PLACES = [[1, 0], [1, -1], [1, 1], [-1, 0], [0, -1], [0, 1], [-1, -1], [-1, 1]];

  /* Boxes on the screen in a coarse grid, so that "is this place free?" looks at a few of them only. */
  class Boxes {
    constructor() { this.cells = new Map(); }

    _each(box, act) {
      for (let u = Math.floor(box[0] / CELL); u <= Math.floor(box[2] / CELL); u++) {
        for (let v = Math.floor(box[1] / CELL); v <= Math.floor(box[3] / CELL); v++) {
          if (act(u * 65536 + v)) return true;
        }
      }
      return false;
    }

    add(box) {
      this._each(box, (key) => {
        if (!this.cells.has(key)) this.cells.set(key, []);
        this.cells.get(key).push(box);
      });
    }

    touches(box) {
      return this._each(box, (key) => (this.cells.get(key) || []).some(
        (b) => b[0] < box[2] && box[0] < b[2] && b[1] < box[3] && box[1] < b[3]));
    }
  }

  function nearerLabels(map) {
    const pen = map.pen, seen = [];
    const first = map.current >= 0 ? [map.current, ...map.neighbours(map.current)] : [];
    map.spots.forEach(([x, y], i) => {
      if (x > -90 && y > -HEIGHT && x < map.width + 90 && y < map.height + HEIGHT) seen.push(i);
    });
    const crowded = seen.length > 600;
    const most = Math.min(Math.max(8, (map.width * map.height) / (crowded ? 16000 : 1500)), MOST_LABELS);
    const taken = new Boxes(), ghosts = new Boxes();
    if (!crowded) for (const i of seen) taken.add(dot(map.spots[i], map.radius));
    if (!crowded && map.showReference) {
      map.reference.forEach((p) => ghosts.add(dot(map.screen(p), 3)));
    }
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 3;
    pen.strokeStyle = map.paper;
    pen.fillStyle = map.ink;
    let drawn = 0;
    for (const i of [...new Set(first.concat(seen.slice(0, MOST_TRIES)))]) {
      if (drawn >= most) break;
      const box = freePlace(map, i, taken, ghosts) || (first.includes(i) ? places(map, i)[0] : null);
      if (!box) continue;
      taken.add(box);
      drawn += 1;
      pen.strokeText(map.short[i], box[0] + 1, box[1] + HEIGHT / 2);
      pen.fillText(map.short[i], box[0] + 1, box[1] + HEIGHT / 2);
    }
  }

  function dot([x, y], half) { return [x - half, y - half, x + half, y + half]; }

  function freePlace(map, i, taken, ghosts) {
    const free = places(map, i).filter((box) => box[0] > 1 && box[2] < map.width - 1 && !taken.touches(box));
    return free.find((box) => !ghosts.touches(box)) || free[0];
  }

  function places(map, i) {
    if (map.widths[i] === undefined) map.widths[i] = map.pen.measureText(map.short[i]).width + 2;
    const [x, y] = map.spots[i], wide = map.widths[i], gap = map.radius + 2.5;
    return PLACES.map(([h, v]) => {
      const aside = gap * (v ? 0.6 : 1);
      const left = h > 0 ? x + aside : h < 0 ? x - aside - wide : x - wide / 2;
      const top = y - HEIGHT / 2 + v * (h ? HEIGHT / 2 + 2 : HEIGHT / 2 + gap);
      return [left, top, left + wide, top + HEIGHT];
    });
  }

  return nearerLabels;
})();
