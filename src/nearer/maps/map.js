/* The page around the map: reads the data, shows the card of an object, the legend, the search box and the buttons.
 * Names reach the page through textContent only, so whatever they hold stays text.
 */
(function () {
  "use strict";
  const by = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const data = JSON.parse(by("data").textContent);
  const [canvas, card, find, found] = [by("map"), by("card"), by("find"), by("found")];
  const legend = by("legend"), ghosts = by("ghosts"), said = by("said");

  /* ---- legend, then the map in the room that is left ---- */

  const dot = (group) => {
    const mark = make("span", undefined, "dot");
    mark.style.background = data.palette[Math.max(0, (data.groupOrder || []).indexOf(group)) % data.palette.length];
    return mark;
  };
  (data.groupOrder || []).slice(0, 24).forEach((group) => {
    const row = make("li");
    row.append(dot(group), make("span", group));
    legend.append(row);
  });
  legend.hidden = !legend.children.length;
  ghosts.hidden = !data.reference;
  const covered = () => {
    const top = document.querySelector("header").getBoundingClientRect().bottom;
    const low = legend.hidden ? document.querySelector(".tools") : legend;
    return [top + 12, window.innerHeight - low.getBoundingClientRect().top + 18];
  };
  const boxes = () => [".heading", ".find", "#legend", ".tools"].map((part) => {
    const box = document.querySelector(part).getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
  });
  const map = new NearerMap(canvas, Object.assign({label: "Map: " + document.title, margins: covered(), obstacles: boxes()}, data));
  window.addEventListener("resize", () => map.cover(covered(), boxes()));

  /* ---- the card ---- */

  let shown = "";
  map.onhover = (spot) => {
    card.hidden = !spot;
    if (!spot) { shown = ""; return; }
    const key = spot.index + "/" + spot.pinned;
    if (shown !== key) fill(spot);
    shown = key;
    const [x, y] = roomFor(spot, card.offsetWidth, card.offsetHeight);
    card.style.transform = `translate(${x}px, ${y}px)`;
  };
  // Beside the point, where the card covers fewest of its neighbours.
  function roomFor(spot, wide, tall) {
    const places = [[spot.x + 20, spot.y - tall / 2], [spot.x - 20 - wide, spot.y - tall / 2],
      [spot.x - wide / 2, spot.y - 20 - tall], [spot.x - wide / 2, spot.y + 20],
      [spot.x + 20, spot.y + 20], [spot.x + 20, spot.y - 20 - tall], [spot.x - 20 - wide, spot.y + 20],
      [spot.x - 20 - wide, spot.y - 20 - tall]];
    const scored = places.map((place) => {
      const x = Math.min(Math.max(place[0], 8), map.width - wide - 8), y = Math.min(Math.max(place[1], 8), map.height - tall - 8);
      const covers = (p, pad) => p.x > x - pad && p.x < x + wide + pad && p.y > y - pad && p.y < y + tall + pad;
      return {x, y, cost: (covers(spot, 10) ? 10 : 0) + spot.nearest.filter((other) => covers(other, 8)).length};
    });
    const best = scored.reduce((a, b) => (b.cost < a.cost ? b : a));
    return [best.x, best.y];
  }
  function fill(spot) {
    const list = make("ol");
    spot.nearest.forEach((other) => list.append(make("li", other.name)));
    card.replaceChildren(make("strong", spot.name));
    if (spot.group !== null) {
      const row = make("span", undefined, "group");
      row.append(dot(spot.group), make("span", spot.group));
      card.append(row);
    }
    if (spot.nearest.length) card.append(list);
    if (spot.pinned) {
      said.textContent = spot.name + (spot.group === null ? "" : ", " + spot.group) +
        ". Nearest: " + spot.nearest.map((other) => other.name).join(", ");
    }
  }

  /* ---- find a name ---- */

  const fold = (text) => text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/ø/g, "o").replace(/ß/g, "ss");
  const folded = map.names.map(fold);
  let choice = -1;

  function suggestions(text) {
    const wanted = fold(text.trim());
    if (!wanted) return [];
    const hits = [];
    folded.forEach((name, i) => {
      const at = name.indexOf(wanted);
      if (at < 0) return;
      const atWord = at === 0 ? 0 : /[\s\-_/(]/.test(name[at - 1]) ? 1 : 2;
      hits.push([name === wanted ? -1 : atWord, name.length, i]);
    });
    return hits.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).slice(0, 8).map((hit) => hit[2]);
  }
  function close() {
    found.hidden = true;
    choice = -1;
    find.setAttribute("aria-expanded", "false");
    find.removeAttribute("aria-activedescendant");
  }
  function choose(to) {
    const rows = [...found.querySelectorAll("[role=option]")];
    if (!rows.length) return;
    choice = (to + rows.length) % rows.length;
    rows.forEach((row, i) => row.setAttribute("aria-selected", String(i === choice)));
    rows[choice].scrollIntoView({block: "nearest"});
    find.setAttribute("aria-activedescendant", rows[choice].id);
  }
  function take(index) {
    find.value = map.names[index];
    close();
    map.focus(index);
  }
  function suggest() {
    const hits = suggestions(find.value);
    found.replaceChildren(...hits.map((index, i) => {
      const row = make("li", map.names[index]);
      row.id = "found-" + i;
      row.setAttribute("role", "option");
      row.dataset.index = index;
      return row;
    }));
    if (!find.value.trim()) return close();
    if (!hits.length) found.append(make("li", "no such name", "none"));
    found.hidden = false;
    find.setAttribute("aria-expanded", "true");
    if (hits.length) choose(0);
  }
  find.addEventListener("input", suggest);
  find.addEventListener("focus", () => { find.select(); });
  find.addEventListener("blur", () => setTimeout(close, 150));
  find.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { find.value = ""; close(); map.hover(-1); canvas.focus(); return; }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.hidden) return suggest();
      return choose(choice + (event.key === "ArrowDown" ? 1 : -1));
    }
    const row = found.querySelectorAll("[role=option]")[Math.max(0, choice)];
    if (event.key === "Enter" && row) take(Number(row.dataset.index));
  });
  found.addEventListener("pointerdown", (event) => {
    const row = event.target.closest("[role=option]");
    event.preventDefault();
    if (row) take(Number(row.dataset.index));
  });

  /* ---- buttons, and keys: they work at once, wherever the focus is, unless one is typing ---- */

  by("in").addEventListener("click", () => map.zoomBy(1.6));
  by("out").addEventListener("click", () => map.zoomBy(1 / 1.6));
  by("all").addEventListener("click", () => map.reset());
  ghosts.querySelector("input").addEventListener("change", (event) => map.setReferenceVisible(event.target.checked));
  document.addEventListener("keydown", (event) => {
    if (event.target === find || event.defaultPrevented) return;
    if (event.key === "/") { event.preventDefault(); find.focus(); } else map.press(event);
  });
  document.body.nearerMap = map; // for scripts that want to drive the page
})();
