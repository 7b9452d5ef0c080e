/* NearerMap: a map of named points on a canvas: the one drawing module of the HTML map and of the survey's dashboard.
 *
 *   const map = new NearerMap(canvas, {points: [[x, y], ...], names: [...], groups: [...]});
 *   map.onhover = (spot) => ...;       // {index, name, group, x, y, pinned, nearest: [{...}]} or null
 *   map.setPoints(points, {names});    // glides from where the points are to where they go
 *
 * Options, all but points optional: names, groups, groupOrder, palette, reference ([[x, y], ...], drawn as ghosts),
 * nearest (rows of indices; otherwise found on the plane), line, margins, label, onhover; of the names on the map
 * labels ("auto": those that fit, "all" or "none"), order (who is named first), scale (of each dot's radius) and
 * obstacles ([[left, top, right, bottom], ...], which names stay off). Needs marks.js, place.js, labels.js and gestures.js.
 * Names only ever reach the canvas and the callback as text. Colours come from CSS: --ink, --faint, --paper.
 */
var NearerMap = (function () {
  "use strict";

  const PALETTE = ["#3b7dd8", "#e07b28", "#2f9e6e", "#c9518f", "#8a6fd1", "#b8960c", "#22a3b8", "#d1504a",
    "#7a8a2e", "#8d7466"];
  const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - Math.pow(2 - 2 * t, 3) / 2);
  const between = (low, value, high) => Math.min(high, Math.max(low, value));
  const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  class NearerMap {
    constructor(canvas, options) {
      this.canvas = canvas;
      this.pen = canvas.getContext("2d");
      this.onhover = options.onhover || null;
      this.palette = options.palette || PALETTE;
      this.reference = options.reference || null;
      this.showReference = Boolean(this.reference);
      this.line = Boolean(options.line); // one dimension: all points lie on y = 0
      this.current = -1; // the object under the pointer or found by name
      this.pinned = false; // found by name: stays until the next hover or Escape
      this.margins = options.margins || [40, 40]; // pixels above and below that the page covers
      this.labels = options.labels || "auto";
      this.obstacles = options.obstacles || [];
      this.moves = {}; // animations under way, by what they move
      this._data(options.points, options);
      canvas.tabIndex = 0;
      canvas.style.touchAction = "none";
      if (!canvas.hasAttribute("role")) canvas.setAttribute("role", "application");
      if (!canvas.hasAttribute("aria-label")) canvas.setAttribute("aria-label", options.label || "Map");
      this.stop = new AbortController();
      nearerGestures(this, this.stop.signal);
      this.watcher = new ResizeObserver(() => this._resize());
      this.watcher.observe(canvas);
      const dark = window.matchMedia("(prefers-color-scheme: dark)");
      dark.addEventListener("change", () => this.redraw(), {signal: this.stop.signal});
      this._resize();
      this.view = this._fitted();
    }

    /* ---- what the page may call ---- */

    cover(margins, obstacles) { [this.margins, this.obstacles] = [margins, obstacles]; }

    setPoints(points, more) {
      const from = this.points;
      const touched = this.view.touched;
      this._data(points, Object.assign({names: this.names, groups: this.groups}, more));
      const to = this.points;
      if (this.current >= to.length) this.hover(-1);
      const fitted = touched ? this.view : this._fitted();
      this._animate("points", more && more.duration, (t) => {
        this.points = t >= 1 ? to : to.map((p, i) => {
          const old = from[i] || p;
          return [old[0] + (p[0] - old[0]) * t, old[1] + (p[1] - old[1]) * t];
        });
      });
      if (!touched) this._glide(fitted);
    }

    focus(which) {
      const index = typeof which === "number" ? which : this.names.indexOf(String(which));
      if (!(index >= 0 && index < this.points.length)) return false;
      const [x, y] = this.points[index];
      let reach = 0;
      for (const other of this.neighbours(index)) {
        reach = Math.max(reach, Math.abs(this.points[other][0] - x), Math.abs(this.points[other][1] - y));
      }
      const room = 0.3 * Math.min(this.width, this.height);
      const zoom = this._lawful(Math.max(this.view.zoom, Math.min(reach > 0 ? room / reach : 0, 12 * this.least)));
      this._glide({x, y, zoom, touched: true});
      this.hover(index, true);
      return true;
    }

    reset() { this.hover(-1); this._glide(this._fitted()); }

    zoomBy(factor, x = this.width / 2, y = this.height / 2, duration = 180) {
      this._glide(this._zoomed(factor, x, y), duration);
    }

    panBy(dx, dy) {
      const {x, y, zoom} = this.moves.view ? this.moves.view.goal : this.view; // a zoom under way is not lost
      delete this.moves.view;
      this.view = {x: x - dx / zoom, y: y + dy / zoom, zoom, touched: true};
      this._draw();
    }

    hover(index, pinned = false) {
      this.current = index;
      this.pinned = pinned && index >= 0;
      this._draw();
    }

    at(x, y, within) {
      let best = -1, least = within * within;
      (this.spots || []).forEach(([u, v], i) => {
        const d = (u - x) * (u - x) + (v - y) * (v - y);
        if (d < least) { least = d; best = i; }
      });
      return best;
    }

    setReferenceVisible(visible) { this.showReference = Boolean(visible && this.reference); this._draw(); }

    redraw() { this.ink = null; this.sprites = null; this._draw(); }

    destroy() {
      this.gone = true;
      this.stop.abort();
      this.watcher.disconnect();
      cancelAnimationFrame(this.frame);
    }

    /* ---- data ---- */

    _data(points, more) {
      const n = points.length;
      this.points = points.map((p) => [Number(p[0]) || 0, Number(p[1]) || 0]);
      this.names = Array.from({length: n}, (_, i) => String(more.names && i < more.names.length ? more.names[i] : i));
      this.groups = more.groups ? Array.from({length: n}, (_, i) => String(more.groups[i])) : null;
      this.nearest = more.nearest || null;
      const same = this.order && this.order.length === n; // objects that move keep their rank and size
      this.order = more.order || (same ? this.order : [...this.points.keys()]);
      this.scale = more.scale || (same ? this.scale : null);
      // Groups keep the colour they had when others join later.
      const known = (more.groupOrder || this.groupOrder || []).map(String);
      this.groupOrder = [...new Set(known.concat(this.groups || []))];
      const rank = new Map(this.groupOrder.map((group, i) => [group, i]));
      this.colour = Array.from({length: n}, (_, i) => (this.groups ? rank.get(this.groups[i]) || 0 : 0) % this.palette.length);
      this.short = this.names.map((name) => (name.length > 40 ? name.slice(0, 39) + "…" : name));
      this.widths = new Array(n);
      this.sprites = this.radii = null;
    }

    neighbours(index, k = 5) {
      if (this.nearest) return this.nearest[index];
      const [x, y] = this.points[index];
      const best = [];
      this.points.forEach(([u, v], i) => {
        if (i === index) return;
        const d = (u - x) * (u - x) + (v - y) * (v - y);
        if (best.length < k || d < best[best.length - 1][0]) {
          best.push([d, i]);
          best.sort((a, b) => a[0] - b[0]);
          best.length = Math.min(best.length, k);
        }
      });
      return best.map((pair) => pair[1]);
    }

    /* ---- the view: which place of the world is in the middle, and how many pixels a unit takes ---- */

    _fitted() {
      const all = this.reference ? this.points.concat(this.reference) : this.points;
      let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
      for (const [x, y] of all) {
        left = Math.min(left, x); right = Math.max(right, x); low = Math.min(low, y); high = Math.max(high, y);
      }
      if (!all.length) [left, right, low, high] = [0, 0, 0, 0];
      const side = between(24, this.width * 0.08, 90), [top, bottom] = this.margins;
      const tall = Math.max(40, this.height - top - bottom);
      const zoom = Math.min(Math.max(40, this.width - 2 * side) / (right - left || 1e-9), tall / (high - low || 1e-9));
      this.least = Math.min(zoom, 1e7);
      return {x: (left + right) / 2, y: (low + high) / 2 + (top - bottom) / 2 / this.least, zoom: this.least, touched: false};
    }

    _lawful(zoom) { return between(this.least / 4, zoom, this.least * 2000); }

    _zoomed(factor, px, py) {
      const from = this.moves.view ? this.moves.view.goal : this.view;
      const zoom = this._lawful(from.zoom * factor);
      const [dx, dy] = [px - this.width / 2, this.height / 2 - py];
      return {x: from.x + dx / from.zoom - dx / zoom, y: from.y + dy / from.zoom - dy / zoom, zoom, touched: true};
    }

    screen([x, y]) {
      return [(x - this.view.x) * this.view.zoom + this.width / 2, this.height / 2 - (y - this.view.y) * this.view.zoom];
    }

    _glide(goal, duration) {
      const from = this.view;
      if (duration === 0) { // under a finger: at once, for the next move starts from here
        delete this.moves.view;
        this.view = goal;
        return this._draw();
      }
      this._animate("view", duration, (t) => {
        const zoom = from.zoom * Math.pow(goal.zoom / from.zoom, t);
        // Straight on the screen, not in the world, or a deep zoom seems to swerve.
        const s = goal.zoom === from.zoom ? t : (1 / from.zoom - 1 / zoom) / (1 / from.zoom - 1 / goal.zoom);
        this.view = t >= 1 ? goal : {x: from.x + (goal.x - from.x) * s, y: from.y + (goal.y - from.y) * s, zoom, touched: goal.touched};
      }, goal);
    }

    _animate(what, duration = 450, step, goal = null) {
      if (calm() || document.hidden) duration = 0;
      this.moves[what] = {start: performance.now(), duration, step, goal};
      this._draw();
    }

    /* ---- drawing ---- */

    _resize() {
      const box = this.canvas.getBoundingClientRect(), dense = window.devicePixelRatio || 1;
      this.width = Math.max(1, box.width);
      this.height = Math.max(1, box.height);
      this.canvas.width = Math.round(this.width * dense);
      this.canvas.height = Math.round(this.height * dense);
      this.dense = dense;
      this.sprites = null;
      if (this.view) this.view = this.view.touched ? this.view : this._fitted();
      this._paint();
    }

    _draw() {
      if (!this.gone && !this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this._paint(); });
    }

    _paint() {
      if (!this.view || this.gone) return;
      const now = performance.now();
      for (const [what, move] of Object.entries(this.moves)) {
        const t = move.duration > 0 ? between(0, (now - move.start) / move.duration, 1) : 1;
        if (t >= 1) delete this.moves[what];
        move.step(ease(t));
      }
      const pen = this.pen;
      pen.setTransform(this.dense, 0, 0, this.dense, 0, 0);
      pen.clearRect(0, 0, this.width, this.height);
      this.spots = this.points.map((p) => this.screen(p));
      if (!this.ink) this._colours();
      nearerMarks(this);
      nearerLabels(this);
      this._tell();
      if (Object.keys(this.moves).length) this._draw();
    }

    _colours() {
      const style = getComputedStyle(this.canvas), css = (name, other) => style.getPropertyValue(name).trim() || other;
      this.ink = css("--ink", "#1f2733");
      this.faint = css("--faint", "#8b95a3");
      this.paper = css("--paper", "#ffffff");
    }

    _tell() {
      const key = this.current < 0 ? "" : [this.current, this.pinned, ...this.spots[this.current]].join();
      if (key === (this.told || "")) return;
      this.told = key;
      const tell = (i) => ({
        index: i, name: this.names[i], group: this.groups ? this.groups[i] : null, x: this.spots[i][0], y: this.spots[i][1],
      });
      const spot = this.current < 0 ? null : Object.assign(tell(this.current), {
        nearest: this.neighbours(this.current).map(tell), pinned: this.pinned,
      });
      if (this.onhover) this.onhover(spot);
    }
  }

  return NearerMap;
})();
