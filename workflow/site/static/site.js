// Curves that can be switched off, tables that sort, the search. Everything else works without a script.
"use strict";

const noregret = (() => {
  const waiting = new Map();
  const PHONE = 600; // pixels: below this width the panels of a picture are too small to read

  // ---- tables -------------------------------------------------------------------------------------------------------------
  const value = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number.parseFloat(text.replace("∞", "Infinity"));
    return Number.isNaN(number) ? text : number;
  };

  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b);
  };

  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = Object.assign(document.createElement("button"), { type: "button" });
      if (head.querySelector("a")) button.ariaLabel = `sort by ${head.textContent.trim()}`; // a button holds no link
      else button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (falling ? -1 : 1) * compare(value(a.cells[column]), value(b.cells[column])));
        table.tBodies[0].append(...rows);
      });
    });
  };

  // ---- curves -------------------------------------------------------------------------------------------------------------
  const swatch = (line) => {
    const made = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    const drawing = made("svg", { width: 26, height: 8, "aria-hidden": true });
    drawing.append(made("line", { x1: 0, x2: 26, y1: 4, y2: 4, stroke: line.colour, "stroke-width": 2.5, "stroke-dasharray": line.dash.join(" ") }));
    return drawing;
  };

  // All lines of a panel over one list of x: where a line has no point there is a gap that is spanned.
  const aligned = (panel, shown, logarithmic, seeds) => {
    const all = [...new Set(panel.lines.flatMap((line) => panel.xs[line.x]))].filter((x) => !logarithmic[0] || x > 0).sort((a, b) => a - b);
    const columns = [all];
    const drawn = (y) => (logarithmic[1] && y <= 0 ? null : y);
    for (const line of panel.lines) {
      const at = new Map(panel.xs[line.x].map((x, i) => [x, i]));
      for (const part of ["centre", "high", "low"]) {
        columns.push(all.map((x) => {
          const i = at.get(x);
          if (i === undefined || !shown.has(line.label) || !line[part]) return i === undefined ? undefined : null;
          return drawn(line[part][i]);
        }));
      }
    }
    for (const { line, values } of seeds) {
      const at = new Map(line.each.at.map((i, k) => [panel.xs[line.x][i], k]));
      columns.push(all.map((x) => (at.has(x) ? drawn(values[at.get(x)]) : undefined)));
    }
    return columns;
  };

  // The lines of single seeds, of the curves that are shown; none in figures that were drawn before these were kept.
  const seedsOf = (panel, state) => (state.view.seeds
    ? panel.lines.filter((line) => line.each && state.shown.has(line.label)).flatMap((line) => line.each.values.map((values) => ({ line, values })))
    : []);

  // What the figure holds, as rows: centre and band of each curve, and the value of each seed.
  const asCsv = (data) => {
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell ?? ""));
    const rows = [["panel", "curve", "seed", "x", "value", "low", "high"]];
    data.panels.forEach((panel, number) => {
      const where = `${number + 1} ${panel.title}`.trim();
      for (const line of panel.lines) {
        const xs = panel.xs[line.x];
        xs.forEach((x, i) => rows.push([where, line.label, "", x, line.centre[i], line.low?.[i], line.high?.[i]]));
        line.each?.seeds.forEach((seed, k) => line.each.at.forEach((i, j) => rows.push([where, line.label, seed, xs[i], line.each.values[k][j], "", ""])));
      }
      for (const mark of panel.marks ?? []) rows.push([where, `${mark.label}, printed in the paper`, "", "", mark.value, "", ""]);
      for (const row of panel.dots ?? []) row.values.forEach((value) => rows.push([where, row.label, "", "", value, "", ""]));
    });
    return `${rows.map((row) => row.map(quoted).join(",")).join("\r\n")}\r\n`;
  };

  const plot = (panel, state, place) => {
    const readout = place.querySelector(".readout");
    const chart = place.querySelector(".chart");
    chart.replaceChildren();
    const { lines } = panel;
    const bands = lines.flatMap((line, i) => (line.low ? [{ series: [3 * i + 2, 3 * i + 3], fill: `${line.colour}22` }] : []));
    const edge = { stroke: "transparent", spanGaps: true, points: { show: false } };
    const series = lines.flatMap((line) => [
      { label: line.label, stroke: line.colour, width: 2, dash: line.dash, spanGaps: true, points: { show: panel.xs[line.x].length < 3 } }, edge, { ...edge },
    ]);
    const seeds = seedsOf(panel, state);
    series.push(...seeds.map(({ line }) => ({ stroke: `${line.colour}88`, width: 1, spanGaps: true, points: { show: false } })));
    place.dataset.seeds = seeds.length;
    const levels = (u) => {
      for (const [label, y] of Object.entries(panel.levels)) {
        const at = u.valToPos(y, "y", true);
        if (y === null || !(at > u.bbox.top && at < u.bbox.top + u.bbox.height)) continue;
        u.ctx.save();
        u.ctx.strokeStyle = u.ctx.fillStyle = "#666666";
        u.ctx.setLineDash([6, 4]);
        u.ctx.beginPath();
        u.ctx.moveTo(u.bbox.left, at);
        u.ctx.lineTo(u.bbox.left + u.bbox.width, at);
        u.ctx.stroke();
        u.ctx.textAlign = "right";
        u.ctx.fillText(label, u.bbox.left + u.bbox.width - 4, at - 4);
        u.ctx.restore();
      }
    };
    // What the paper prints for a curve: a triangle at the right edge, as in the picture.
    const marks = (u) => {
      for (const mark of panel.marks ?? []) {
        const at = u.valToPos(mark.value, "y", true);
        if (!state.shown.has(mark.label) || !(at >= u.bbox.top && at <= u.bbox.top + u.bbox.height)) continue;
        const edge = u.bbox.left + u.bbox.width;
        u.ctx.save();
        u.ctx.fillStyle = mark.colour;
        u.ctx.beginPath();
        u.ctx.moveTo(edge - 12 * devicePixelRatio, at);
        u.ctx.lineTo(edge, at - 6 * devicePixelRatio);
        u.ctx.lineTo(edge, at + 6 * devicePixelRatio);
        u.ctx.fill();
        u.ctx.restore();
      }
    };
    const told = (u) => {
      const i = u.cursor.idx;
      if (i === null || i === undefined) return;
      const said = lines.flatMap((line, k) => {
        const y = u.data[3 * k + 1][i];
        return y === null || y === undefined ? [] : [`${line.label} ${y.toPrecision(4)}`];
      });
      readout.textContent = `${panel.xlabel} ${u.data[0][i]}: ${said.join(" · ")}`;
    };
    const short = (y) => (y !== 0 && (Math.abs(y) < 1e-3 || Math.abs(y) >= 1e6) ? y.toExponential(0) : String(Number(y.toPrecision(6))));
    const values = (_, splits) => splits.map((y) => (y === null ? "" : short(y)));
    const axis = { values, grid: { stroke: "#e6e6e6", width: 1 }, ticks: { stroke: "#e6e6e6", width: 1 } };
    const options = {
      width: Math.max(260, chart.clientWidth), height: 300, legend: { show: false }, cursor: { drag: { x: true, y: true } },
      scales: { x: { time: false, distr: state.log[0] ? 3 : 1 }, y: { distr: state.log[1] ? 3 : 1 } },
      axes: [{ ...axis, label: panel.xlabel }, { ...axis, label: panel.ylabel, size: 66 }],
      series: [{}, ...series], bands, hooks: { draw: [levels, marks], setCursor: [told] },
    };
    return new uPlot(options, aligned(panel, state.shown, state.log, seeds), chart);
  };

  const toggle = (label, pressed, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(label);
    button.setAttribute("aria-pressed", String(pressed));
    button.addEventListener("click", () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      act(now);
    });
    return button;
  };

  const explore = (figure, data, place) => {
    const lines = new Map(data.panels.flatMap((panel) => panel.lines).map((line) => [line.label, line]));
    const shown = new Set(lines.keys());
    const view = { seeds: false };
    const panels = data.panels.filter((panel) => panel.lines.length).map((panel) => {
      const section = document.createElement("section");
      section.innerHTML = '<p class="panel"></p><div class="axes"></div><div class="chart"></div><p class="readout" aria-live="off"></p>';
      section.querySelector(".panel").textContent = panel.title.replaceAll("$", "");
      if (panel.data.startsWith("substitute")) section.querySelector(".panel").insertAdjacentHTML("beforeend", ' <span class="substitute">substitute data</span>');
      if (panel.marks?.length) {
        section.insertAdjacentHTML("beforeend", '<p class="note printed"></p>');
        section.lastChild.textContent = `Triangles at the right: what the paper prints: ${panel.marks.map((mark) => `${mark.label} ${mark.value}`).join(", ")}.`;
      }
      const state = { shown, view, log: [...panel.log] };
      const draw = () => plot(panel, state, section);
      ["x", "y"].forEach((name, i) => {
        section.querySelector(".axes").append(toggle(`logarithmic ${name}`, state.log[i], (now) => { state.log[i] = now; draw(); }));
      });
      return { section, draw };
    });
    const redraw = () => panels.forEach((panel) => panel.draw());
    place.innerHTML = '<div class="toggles" role="group" aria-label="Curves"></div>';
    const toggles = place.firstChild;
    for (const [label, line] of lines) {
      const button = toggle(label.replaceAll("$", ""), true, (now) => { if (now) shown.add(label); else shown.delete(label); redraw(); });
      button.prepend(swatch(line));
      toggles.append(button);
    }
    if ([...lines.values()].some((line) => line.each)) {
      const button = toggle("seeds", false, (now) => { view.seeds = now; redraw(); });
      button.className = "seeds";
      button.title = "the line of each seed beside centre and band";
      toggles.append(button);
    }
    const link = document.createElement("a");
    link.className = "csv";
    link.textContent = "Download as CSV";
    link.download = `${figure.replaceAll("/", "-")}.csv`;
    link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(asCsv(data))}`;
    toggles.append(link);
    place.append(...panels.map((panel) => panel.section));
    redraw();
    let width = place.clientWidth;
    new ResizeObserver(() => { if (place.clientWidth !== width) { width = place.clientWidth; redraw(); } }).observe(place);
  };

  const open = (button) => {
    const place = button.nextElementSibling;
    const hidden = !place.hidden;
    place.hidden = hidden;
    button.setAttribute("aria-expanded", String(!hidden));
    button.textContent = hidden ? "Explore the curves" : "Close the curves";
    if (place.childElementCount || waiting.has(button.dataset.figure)) return;
    waiting.set(button.dataset.figure, place);
    const script = document.createElement("script");
    script.src = button.dataset.script;
    document.head.append(script);
  };

  // Curves come as JSON, gzipped and in base64: a quarter as large.
  const unpacked = (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };

  const receive = async (figure, packed) => {
    const place = waiting.get(figure);
    let data;
    try {
      data = await unpacked(packed);
    } catch (error) {
      place.textContent = `This browser cannot unpack the curves (${error.message}). A browser of 2023 or later can. Their numbers lie as CSV beside each figure that a run draws.`;
      return;
    }
    explore(figure, data, place);
  };

  // What a link points at may lie in folded parts.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.matches("details")) at.open = true;
    target?.scrollIntoView();
  };

  // ---- search -------------------------------------------------------------------------------------------------------------
  // Lines that hold every word: terms whose name does come first, texts of other terms last. The address keeps the words.
  const find = (lines) => {
    const form = document.querySelector("form[role=search]");
    const query = form.querySelector("input");
    const show = () => {
      const wanted = query.value.toLowerCase().split(/\s+/).filter(Boolean);
      const holds = (text) => wanted.every((word) => text.toLowerCase().includes(word));
      const rank = ([kind, name]) => (kind === "term" ? (holds(name) ? 0 : 2) : 1);
      const found = wanted.length ? lines.filter(([kind, name, , more]) => holds(`${kind} ${name} ${more}`)) : [];
      found.sort((a, b) => rank(a) - rank(b));
      document.querySelector("ul.found").replaceChildren(...found.slice(0, 60).map(([kind, name, place, more]) => {
        const item = document.createElement("li");
        item.innerHTML = '<span class="where"></span> <a></a> <span class="where"></span>';
        item.children[0].textContent = kind;
        item.children[1].textContent = name;
        item.children[1].href = place;
        item.children[2].textContent = more;
        return item;
      }));
      form.querySelector("[role=status]").textContent = wanted.length ? `${found.length} found` : "";
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    query.addEventListener("input", () => {
      history.replaceState(null, "", query.value ? `?q=${encodeURIComponent(query.value)}#search` : location.pathname);
      show();
    });
    query.value = new URLSearchParams(location.search).get("q") ?? "";
    show();
  };

  window.addEventListener("hashchange", unfold);
  document.addEventListener("DOMContentLoaded", () => {
    unfold();
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll("button.explore").forEach((button) => button.addEventListener("click", () => open(button)));
    if (innerWidth < PHONE) document.querySelectorAll("details[open] button.explore").forEach(open); // its panels are stacked
  });

  return { receive, find };
})();
