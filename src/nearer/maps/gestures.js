/* How mouse, fingers and keys move a NearerMap: drag to pan, wheel or pinch to zoom, hover or tap to ask, and on the
 * keyboard arrows, plus, minus, 0 (the whole map), comma and full stop (from object to object), Escape.
 */
function nearerGestures(map, signal) {
  "use strict";
  const canvas = map.canvas;
  const down = new Map(); // the pointers that touch, by id: where they are now
  let travelled = 0;
  const on = (type, act, options) => canvas.addEventListener(type, act, Object.assign({signal}, options));
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const near = (event) => (event.pointerType === "touch" ? 24 : 12);
  const pair = () => {
    const [[x, y], [u, v]] = [...down.values()];
    return {x: (x + u) / 2, y: (y + v) / 2, apart: Math.max(8, Math.hypot(u - x, v - y))};
  };

  on("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) travelled = 0;
    if (down.size < 2) down.set(event.pointerId, place(event));
    canvas.classList.add("dragging");
  });

  on("pointermove", (event) => {
    const [x, y] = place(event);
    if (down.size === 0) {
      const index = map.at(x, y, near(event));
      if (index >= 0 || !map.pinned) {
        if (index !== map.current) map.hover(index);
        canvas.classList.toggle("over", index >= 0);
      }
      return;
    }
    if (!down.has(event.pointerId)) return;
    const before = down.size === 2 ? pair() : null, [u, v] = down.get(event.pointerId);
    down.set(event.pointerId, [x, y]);
    travelled += Math.hypot(x - u, y - v);
    if (before) {
      const after = pair();
      map.panBy(after.x - before.x, after.y - before.y);
      map.zoomBy(after.apart / before.apart, after.x, after.y, 0);
    } else if (travelled > 4) {
      map.panBy(x - u, y - v);
    }
  });

  const lift = (event) => {
    if (!down.delete(event.pointerId)) return;
    if (down.size === 0) canvas.classList.remove("dragging");
    if (event.type === "pointerup" && travelled <= 4) {
      const index = map.at(...place(event), near(event));
      map.hover(index, true);
    }
  };
  on("pointerup", lift);
  on("pointercancel", lift);
  on("pointerleave", () => { if (!map.pinned && down.size === 0) map.hover(-1); });
  on("dblclick", (event) => map.zoomBy(2, ...place(event), 250));

  on("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
    // A pinch on a touchpad comes as a wheel with ctrl held and small steps.
    const factor = Math.exp(-Math.max(-240, Math.min(240, pixels)) * (event.ctrlKey ? 0.01 : 0.0022));
    map.zoomBy(factor, ...place(event), 0);
  }, {passive: false});

  const step = (by) => {
    const n = map.points.length;
    if (n) map.focus(map.current < 0 ? (by > 0 ? 0 : n - 1) : (map.current + by + n) % n);
  };
  const keys = {
    ArrowLeft: () => map.panBy(60, 0), ArrowRight: () => map.panBy(-60, 0),
    ArrowUp: () => map.panBy(0, 60), ArrowDown: () => map.panBy(0, -60),
    "+": () => map.zoomBy(1.5), "=": () => map.zoomBy(1.5), "-": () => map.zoomBy(1 / 1.5),
    "0": () => map.reset(), Home: () => map.reset(), Escape: () => map.hover(-1),
    ".": () => step(1), ",": () => step(-1),
  };
  map.press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  };
  on("keydown", map.press);
}
