/* The names on a NearerMap: those that fit (place.js), more as one zooms in. If the object in hand and its neighbours
 * are not all named, they come first. A name that stands apart from its dot, as with labels: "all", has a line to it.
 */
var nearerLabels = (function () {
  "use strict";

  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const HEIGHT = 15, STEM = 10, MOST_TRIES = 4000, AREA = 2500; // pixels of the page for each name, at least

  function nearerLabels(map) {
    map.boxes = new Map();
    if (map.labels === "none") return;
    map.pen.font = FONT;
    const {x, y, zoom} = map.view;
    const still = [x, y, zoom, map.width, map.height, map.radii.base, map.showReference].join();
    if (map.still !== still || map.stillPoints !== map.points) { // the same place, the same names
      Object.assign(map, {still, stillPoints: map.points, stillBoxes: place(map, [])});
    }
    map.boxes = map.stillBoxes;
    const asked = map.current >= 0 ? [map.current, ...map.neighbours(map.current)] : [];
    if (asked.some((i) => !map.boxes.has(i))) {
      const boxes = place(map, asked), named = (all) => asked.filter((i) => all.has(i)).length;
      // Other names move only if that makes room.
      if (named(boxes) > named(map.boxes)) map.boxes = boxes;
    }
    write(map);
  }

  function place(map, first) {
    const all = map.labels === "all";
    const seen = map.order.filter((i) => {
      const [x, y] = map.spots[i];
      return x > 0 && y > 0 && x < map.width && y < map.height;
    });
    const order = [...new Set(first.concat(all ? seen : seen.slice(0, MOST_TRIES)))];
    for (const i of order) if (map.widths[i] === undefined) map.widths[i] = map.pen.measureText(map.short[i]).width + 2;
    if (map.line) return placeOnLine(map, order, all);
    return nearerPlace({
      points: map.spots, radii: map.radii, order, sizes: map.widths.map((width) => [width, HEIGHT]),
      page: [2, 2, map.width - 2, map.height - 2], obstacles: map.obstacles, keepAll: all,
      rings: map.showReference ? map.reference.map((p) => map.screen(p)) : null,
      most: all ? Infinity : Math.max(12, (map.width * map.height) / AREA),
    });
  }

  /* On a line names stand upright above their dots, those that fit beside each other. */
  function placeOnLine(map, order, all) {
    const boxes = new Map(), half = HEIGHT / 2;
    for (const i of order) {
      const [x, y] = map.spots[i], low = y - map.radii[i] - STEM;
      if (all || [...boxes.values()].every((box) => Math.abs(box[0] + half - x) >= HEIGHT - 1)) {
        boxes.set(i, [x - half, low - map.widths[i], x + half, low]);
      }
    }
    return boxes;
  }

  function writeName(map, text, box) {
    const pen = map.pen;
    pen.save();
    if (map.line) {
      pen.translate(box[0] + HEIGHT / 2, box[3] - 1);
      pen.rotate(-Math.PI / 2);
    } else {
      pen.translate(box[0] + 1, box[1] + HEIGHT / 2);
    }
    pen.strokeText(text, 0, 0);
    pen.fillText(text, 0, 0);
    pen.restore();
  }

  function write(map) {
    const pen = map.pen;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    for (const [i, box] of map.boxes) {
      const [x, y] = map.spots[i], near = [Math.min(Math.max(x, box[0]), box[2]), Math.min(Math.max(y, box[1]), box[3])];
      if (Math.hypot(near[0] - x, near[1] - y) > map.radii[i] + 4) {
        pen.lineWidth = 0.8;
        pen.strokeStyle = map.faint;
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(...near);
        pen.stroke();
      }
    }
    pen.lineWidth = 3;
    pen.strokeStyle = map.paper;
    pen.fillStyle = map.ink;
    for (const [i, box] of map.boxes) writeName(map, map.short[i], box);
  }

  return nearerLabels;
})();
