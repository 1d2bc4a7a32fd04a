// The page of a claim: its level, the numbers of its check, its seeds and the weights of its readings move, and the outcome is
// judged again (judge.js). The address keeps what was moved.
"use strict";

(() => {
  const SYMBOLS = { reproduced: "✓", "direction only": "≈", inconclusive: "±", contradicted: "✗", "not run": "·" };
  const HOLDS = ["reproduced", "direction only"];
  const LABELS = { factor: "factor before the right side", tolerance: "tolerance, as a share", absolute: "tolerance", at_least: "at least", at_most: "at most" };
  const KINDS = ["reproduced", "direction only", "inconclusive", "contradicted", "not decided", "not run"];

  const make = (name, attributes = {}, ...inside) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  };

  const short = (value) => {
    if (value === undefined || Number.isNaN(value)) return "-";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
    return String(Number(value.toPrecision(3)));
  };

  const badge = (verdict) => {
    const symbol = make("span", { "aria-hidden": "true" }, SYMBOLS[verdict] ?? "?");
    return make("span", { class: `verdict ${verdict.replaceAll(" ", "-")}` }, symbol, ` ${verdict}`);
  };

  // All numbers of a claim's seeds, by default and under readings, with all their digits.
  const asCsv = (claim) => {
    const names = ["left", "right", "value", "kept", "rows", "least", "most"];
    const lines = [["reading", "comparison", "seed", ...names]];
    for (const [reading, runs] of [["default", claim.default], ...Object.entries(claim.readings)]) {
      for (const part of runs.parts) {
        (part.seeds ?? []).forEach((seed, i) => lines.push([reading, part.what, seed, ...names.map((name) => part[name]?.[i] ?? "")]));
      }
    }
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
    return `${lines.map((line) => line.map(quoted).join(",")).join("\n")}\n`;
  };

  const seedsOf = (claim) => {
    const runs = [claim.default, ...Object.values(claim.readings)].flatMap((each) => each.parts);
    return [...new Set(runs.flatMap((part) => part.seeds ?? []))].filter((seed) => seed >= 0).sort((a, b) => a - b);
  };

  // The questions that readings answer, each with one vote at first; what the paper prints has one, too.
  const axesOf = (claim) => [...new Set(claim.specifications.map((spec) => spec.axis.join(", ")))];

  const shares = (claim, judged, weights) => {
    const found = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    for (const spec of claim.specifications) {
      const name = spec.names[0];
      const live = name === "default" ? judged.default : judged.readings[name];
      const kind = live === undefined ? spec.counts_as : live.observed === "not run" ? "not run" : live.verdict;
      found[kind] = (found[kind] ?? 0) + spec.vote * (weights[spec.axis.join(", ")] ?? 1);
    }
    const total = Object.values(found).reduce((sum, value) => sum + value, 0);
    if (!(total > 0)) return [];
    return Object.entries(found).filter(([, value]) => value > 0).map(([kind, value]) => [kind, value / total]);
  };

  const read = (claim) => {
    const said = new URLSearchParams(location.hash.slice(1));
    const number = (key, usual) => { const value = Number.parseFloat(said.get(key)); return Number.isNaN(value) ? usual : value; };
    const own = judging.movable(claim.check);
    return {
      level: Math.min(0.5, Math.max(0.0001, number("level", judging.LEVEL))),
      numbers: Object.fromEntries(Object.entries(own).map(([key, usual]) => [key, number(key, usual)])),
      without: (said.get("without") ?? "").split(",").filter(Boolean).map(Number),
      weights: Object.fromEntries(axesOf(claim).map((axis, i) => [axis, Math.max(0, number(`weight${i}`, 1))])),
    };
  };

  const keep = (claim, state) => {
    const said = new URLSearchParams();
    const own = judging.movable(claim.check);
    if (state.level !== judging.LEVEL) said.set("level", state.level);
    for (const [key, value] of Object.entries(state.numbers)) if (value !== own[key]) said.set(key, value);
    if (state.without.length) said.set("without", state.without.join(","));
    Object.values(state.weights).forEach((value, i) => { if (value !== 1) said.set(`weight${i}`, value); });
    history.replaceState(null, "", said.size ? `#${said}` : location.pathname + location.search);
  };

  const field = (label, value, options, act) => {
    const input = make("input", { type: "number", value, ...options });
    input.addEventListener("input", () => { if (input.value !== "" && input.checkValidity()) act(Number(input.value)); });
    return make("label", {}, `${label} `, input);
  };

  const comparisons = (found) => {
    const heads = ["comparison", "effect [95 %]", "p for it", "p against it", "seeds", "decides"];
    const cell = (label, text, kind = "") => make("td", { "data-label": label, class: kind }, text);
    const rows = found.map((one) => make("tr", {},
      make("th", { scope: "row" }, one.words),
      cell("effect", one.missing ? "not run" : `${one.kind} ${short(one.effect)} [${short(one.low)}, ${short(one.high)}]`),
      cell("p for it", short(one.p), "number"), cell("p against it", short(one.against), "number"), cell("seeds", String(one.n), "number"),
      cell("decides", one.decides ? `${one.decides} the claim` : one.few || one.undecided || "for neither side")));
    const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparisons, judged in this page" }, make("table", { class: "stacked" }, head, make("tbody", {}, ...rows)));
  };

  const outcome = (claim, state, place) => {
    const judged = judging.judge(claim, state);
    const { verdict, reasons, comparisons: found } = judged.default;
    const line = make("p", { class: "lead outcome" }, badge(verdict), verdict === claim.verdict ? " as above" : ` instead of ${claim.verdict}`);
    const parts = [line];
    if (reasons.length) {
      const seen = judged.default.observed === "not run" ? "" : ` The numbers alone would say: ${judged.default.observed}.`;
      parts.push(make("p", { class: "reasons" }, `Not decided: ${reasons.join("; ")}.${seen}`));
    }
    if (claim.specifications.length > 1) {
      const told = shares(claim, judged, state.weights);
      const holds = told.filter(([kind]) => HOLDS.includes(kind)).reduce((sum, [, share]) => sum + share, 0);
      const each = told.map(([kind, share]) => `${kind} ${Math.round(100 * share)} %`).join(", ");
      parts.push(make("p", { class: "votes" }, !told.length ? "No reading has a weight." : `It holds in ${Math.round(100 * holds)} % of the votes of all readings: ${each}.`));
    }
    if (location.hash.includes("=")) parts.push(comparisons(found));
    place.replaceChildren(...parts);
  };

  const controls = (claim, state, act) => {
    const moved = (change) => { change(); act(); };
    const parts = [field("level", state.level, { min: 0.0001, max: 0.5, step: "any" }, (value) => moved(() => { state.level = value; }))];
    for (const [key, value] of Object.entries(state.numbers)) {
      parts.push(field(LABELS[key], value, { step: "any" }, (now) => moved(() => { state.numbers[key] = now; })));
    }
    const first = make("div", { class: "fields" }, ...parts);
    if (!Object.keys(state.numbers).length) first.append(make("span", { class: "note" }, "The bound of this check cannot be changed here: that needs every row of the runs."));
    const seeds = seedsOf(claim).map((seed) => {
      const box = make("input", { type: "checkbox", value: seed });
      box.checked = !state.without.includes(seed);
      box.addEventListener("change", () => moved(() => {
        state.without = box.checked ? state.without.filter((other) => other !== seed) : [...state.without, seed].sort((a, b) => a - b);
      }));
      return make("label", {}, box, ` ${seed}`);
    });
    const found = [first];
    if (seeds.length) found.push(make("fieldset", {}, make("legend", {}, "Seeds. With some left out there is one look, at all others, at the whole level."), ...seeds));
    const axes = Object.entries(state.weights);
    if (axes.length > 1) {
      const weights = axes.map(([axis, value]) => {
        const names = claim.specifications.filter((spec) => spec.axis.join(", ") === axis).map((spec) => spec.names[0]);
        const label = axis === "" ? "the paper as printed" : names.join(" or ");
        return field(label, value, { min: 0, step: "any" }, (now) => moved(() => { state.weights[axis] = now; }));
      });
      found.push(make("fieldset", { class: "weights" }, make("legend", {}, "Weights: the votes that the readings of a question share"), ...weights));
    }
    return found;
  };

  noregret.claim = (claim) => {
    const place = document.getElementById("judge");
    const draw = () => {
      const state = read(claim);
      const shown = make("div", { class: "judged", "aria-live": "polite" });
      const act = () => { keep(claim, state); outcome(claim, state, shown); };
      const reset = make("button", { type: "button" }, "As in the report");
      reset.addEventListener("click", () => { history.replaceState(null, "", location.pathname + location.search); draw(); });
      place.replaceChildren(...controls(claim, state, act), reset, shown);
      outcome(claim, state, shown);
    };
    const link = document.getElementById("csv");
    if (link) {
      link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(asCsv(claim))}`;
      link.hidden = false;
    }
    place.hidden = false;
    draw();
    window.addEventListener("hashchange", () => { if (!location.hash || location.hash.includes("=")) draw(); });  // an anchor moves nothing
  };
})();
