/* The marks on a NearerMap: dots, the ghosts of the reference with their lines, and the rays from the object in hand to
 * its neighbours. Dots are stamped from small pictures, one a colour, made anew when size or colours change.
 */
var nearerMarks = (function () {
  "use strict";

  function nearerMarks(map) {
    // Dots shrink where there are many for the size of the page.
    const base = Math.min(4.5, Math.max(1.5, 0.15 * Math.sqrt((map.width * map.height) / Math.max(1, map.points.length))));
    const radius = Math.round(2 * Math.min(4.5, base * Math.max(1, Math.pow(map.view.zoom / map.least, 0.3)))) / 2;
    if (!map.sprites || radius !== map.radius) makeSprites(map, radius);
    if (!map.radii || map.radii.base !== radius) {
      map.radii = map.points.map((_, i) => radius * (map.scale ? map.scale[i] : 1));
      map.radii.base = radius;
    }
    map.pen.fillStyle = map.faint;
    if (map.line) map.pen.fillRect(0, map.screen([0, 0])[1] - 0.5, map.width, 1);
    if (map.showReference) ghosts(map);
    if (map.current >= 0) rays(map);
    dots(map);
    if (map.current >= 0) ring(map);
  }

  function dots(map) {
    const pen = map.pen, half = map.radii.reduce((a, b) => Math.max(a, b), 0) + 1;
    const seen = [...map.spots.keys()].filter((i) => {
      const [x, y] = map.spots[i];
      return x > -half && y > -half && x < map.width + half && y < map.height + half;
    });
    if (seen.length <= 4000) {
      for (const i of seen) {
        const [x, y] = map.spots[i], reach = map.radii[i] + 1;
        pen.drawImage(map.sprites[map.colour[i]], x - reach, y - reach, 2 * reach, 2 * reach);
      }
      return;
    }
    // Thousands of dots are so small that squares look the same, and are four times as fast.
    for (const i of seen) {
      const side = 1.7 * map.radii[i];
      pen.fillStyle = map.palette[map.colour[i]];
      pen.fillRect(map.spots[i][0] - side / 2, map.spots[i][1] - side / 2, side, side);
    }
  }

  function makeSprites(map, radius) {
    map.radius = radius;
    const half = radius + 1;
    map.sprites = map.palette.map((colour) => {
      const sprite = document.createElement("canvas"), side = Math.ceil(2 * half * map.dense * (map.scale ? 2 : 1));
      sprite.width = sprite.height = side;
      const pen = sprite.getContext("2d");
      pen.scale(side / (2 * half), side / (2 * half));
      for (const [fill, reach] of [[map.paper, radius + 0.8], [colour, radius]]) {
        pen.fillStyle = fill;
        pen.beginPath();
        pen.arc(half, half, reach, 0, 2 * Math.PI);
        pen.fill();
      }
      return sprite;
    });
  }

  function ghosts(map) {
    const pen = map.pen;
    pen.strokeStyle = map.faint;
    pen.lineWidth = 0.8;
    map.reference.forEach((p, i) => {
      const [x, y] = map.screen(p), [u, v] = map.spots[i] || [x, y];
      pen.beginPath();
      pen.moveTo(u, v);
      pen.lineTo(x, y);
      pen.stroke();
      pen.beginPath();
      pen.arc(x, y, 3.5, 0, 2 * Math.PI);
      pen.fillStyle = map.paper;
      pen.fill();
      pen.stroke();
    });
  }

  function rays(map) {
    const pen = map.pen, [x, y] = map.spots[map.current];
    pen.strokeStyle = map.palette[map.colour[map.current]];
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1.2;
    for (const other of map.neighbours(map.current)) {
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(...map.spots[other]);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  function ring(map) {
    const pen = map.pen, [x, y] = map.spots[map.current];
    pen.beginPath();
    pen.arc(x, y, map.radii[map.current] + 2, 0, 2 * Math.PI);
    pen.fillStyle = map.palette[map.colour[map.current]];
    pen.fill();
    pen.lineWidth = 2;
    pen.strokeStyle = map.ink;
    pen.stroke();
  }

  return nearerMarks;
})();
