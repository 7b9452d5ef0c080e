/* Which names fit on a map, and where: the rules of labels.py, which explains them. No page is needed.
 *
 *   nearerPlace({points, sizes, radii, order, page, obstacles, rings, most, keepAll}) -> Map of object to box
 *
 * A box is [left, top, right, bottom] in pixels. All but the first five are optional.
 */
var nearerPlace = (function () {
  "use strict";

  const POSITIONS = [[1, 0], [-1, 0], [1, -1], [1, 1], [0, -1], [0, 1], [-1, -1], [-1, 1],
    [0.5, -1], [0.5, 1], [-0.5, -1], [-0.5, 1], [1, -0.5], [1, 0.5], [-1, -0.5], [-1, 0.5]];
  const GAP = 2.5, CLEARER = 1.3, ASIDE = 0.6, BESIDE = 3, FARTHER = [1, 2.6, 5], SEARCHED = 200, RING = 4.5, CELL = 16, APRON = 64;

  /* The points on or near a page, sorted into cells, so that "what is near this box?" looks at a few of them only. */
  class Cells {
    constructor(points, page) {
      [this.left, this.top] = [page[0] - APRON, page[1] - APRON];
      this.columns = Math.ceil((page[2] - this.left + APRON) / CELL);
      this.lines = Math.ceil((page[3] - this.top + APRON) / CELL);
      const cell = points.map(([x, y]) => {
        const [u, v] = [Math.floor((x - this.left) / CELL), Math.floor((y - this.top) / CELL)];
        return u >= 0 && v >= 0 && u < this.columns && v < this.lines ? v * this.columns + u : -1;
      });
      this.start = new Int32Array(this.columns * this.lines + 1);
      for (const c of cell) if (c >= 0) this.start[c + 1] += 1;
      for (let c = 1; c < this.start.length; c++) this.start[c] += this.start[c - 1];
      this.members = new Int32Array(this.start[this.start.length - 1]);
      const next = this.start.slice();
      cell.forEach((c, i) => { if (c >= 0) this.members[next[c]++] = i; });
    }

    /* Whether the test holds for one of the points of the cells that the box, grown on all sides, touches. */
    some(box, by, test) {
      const u = Math.max(0, Math.floor((box[0] - by - this.left) / CELL)), v = Math.max(0, Math.floor((box[1] - by - this.top) / CELL));
      const right = Math.min(this.columns - 1, Math.floor((box[2] + by - this.left) / CELL));
      const low = Math.min(this.lines - 1, Math.floor((box[3] + by - this.top) / CELL));
      for (let line = v; line <= low; line++) {
        // The cells of a line lie one after the other.
        const end = this.start[line * this.columns + right + 1];
        for (let k = this.start[line * this.columns + u]; k < end; k++) if (test(this.members[k])) return true;
      }
      return false;
    }
  }

  function distance(box, point, aside = 1) {
    const x = aside * Math.max(box[0] - point[0], 0, point[0] - box[2]);
    const y = Math.max(box[1] - point[1], 0, point[1] - box[3]);
    return Math.sqrt(x * x + y * y);
  }

  function overlap(a, b) {
    return Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  }

  function option([h, v], [x, y], [width, height], radius, pixel) {
    const gap = (radius + GAP * pixel) * (Math.abs(h) + Math.abs(v) === 2 ? 0.6 : 1);
    const left = x - width / 2 + h * (width / 2 + gap), top = y - height / 2 + v * (height / 2 + gap);
    return [left, top, left + width, top + height];
  }

  function nearerPlace({points, sizes, radii, order, page, obstacles = [], rings = null, most = Infinity, keepAll = false}) {
    const boxes = new Map(), names = new Map(), leftOver = []; // names: boxes with the space beside them
    const dots = new Cells(points, page), marks = rings ? new Cells(rings, page) : null;
    const widest = radii.reduce((a, b) => Math.max(a, b), 0);

    const blocked = (box) => obstacles.some((other) => overlap(box, other) > 0);
    const blockers = (box) => [...names.keys()].filter((i) => overlap(box, names.get(i)) > 0);
    const widened = (box) => [box[0] - BESIDE, box[1], box[2] + BESIDE, box[3]];
    const put = (i, box) => { boxes.set(i, box); names.set(i, widened(box)); };

    /* Whether the name of i may be there, as far as other names allow it. */
    function isClear(box, i) {
      const inside = box[0] >= page[0] && box[1] >= page[1] && box[2] <= page[2] && box[3] <= page[3];
      return inside && !misleads(box, i) && !blocked(box);
    }

    function misleads(box, i) {
      const [x, y] = points[i], far = CLEARER * distance(box, points[i]);
      return dots.some(box, Math.max(far, widest + 1) / ASIDE, (j) => {
        const p = points[j];
        // Objects in exactly the same place have one dot: a name beside it is none the less right.
        return distance(box, p, ASIDE) < Math.max(far, radii[j] + 1) && (p[0] !== x || p[1] !== y);
      });
    }

    function ringsNear(box, i) {
      const own = Math.max(distance(box, points[i]), RING);
      let count = 0;
      marks.some(box, own, (j) => { if (distance(box, rings[j]) < (j === i ? RING : own)) count += 1; });
      return count;
    }

    function free(i) {
      let best = null, least = Infinity;
      for (const position of POSITIONS) {
        const box = option(position, points[i], sizes[i], radii[i], 1);
        if (!isClear(box, i) || blockers(box).length) continue;
        const harm = rings ? ringsNear(box, i) : 0;
        if (harm < least) [best, least] = [box, harm];
        if (harm === 0) break;
      }
      return best;
    }

    function makeRoom(i) {
      for (const position of POSITIONS) {
        const box = option(position, points[i], sizes[i], radii[i], 1);
        if (!isClear(box, i)) continue;
        const [other, ...more] = blockers(box);
        if (other === undefined) return put(i, box); // a name that moved has left the space
        if (more.length) continue;
        const before = names.get(other);
        names.delete(other);
        names.set(i, widened(box));
        const moved = free(other);
        if (moved) {
          put(other, moved);
          return put(i, box);
        }
        names.set(other, before);
        names.delete(i);
      }
      return null;
    }

    function harm(box, i) {
      const own = distance(box, points[i]), height = sizes[i][1];
      let area = own;
      for (const other of [...obstacles, ...names.values()]) area += overlap(box, other);
      dots.some(box, Math.max(own, widest), (j) => {
        if (j !== i && distance(box, points[j]) < Math.max(own, radii[j])) area += height * height;
      });
      const out = [page[0] - box[0], page[1] - box[1], box[2] - page[2], box[3] - page[3]];
      return area + 10 * height * out.reduce((sum, by) => sum + Math.max(0, by), 0);
    }

    for (const i of order) {
      if (boxes.size >= most) break;
      const box = free(i);
      if (box) put(i, box);
      else leftOver.push(i);
    }
    for (const i of leftOver.slice(0, SEARCHED)) if (boxes.size < most) makeRoom(i);
    (keepAll ? leftOver.filter((i) => !boxes.has(i)) : []).forEach((i, rank) => {
      let best = option(POSITIONS[0], points[i], sizes[i], radii[i], 1), least = Infinity;
      if (rank >= SEARCHED) return boxes.set(i, best);
      for (const [far, position] of FARTHER.flatMap((gap) => POSITIONS.map((each) => [gap, each]))) {
        const box = option(position, points[i], sizes[i], radii[i], far);
        const cost = harm(box, i);
        if (cost < least) [best, least] = [box, cost];
      }
      boxes.set(i, best);
      return names.set(i, best);
    });
    return boxes;
  }

  return nearerPlace;
})();
