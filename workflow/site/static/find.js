// Search and filters over everything that the site has a line for, and the outcomes of all claims at another level (judge.js).
// The address keeps them; with no script all lines are shown.
"use strict";

(() => {
  const LEVEL = "0.05";
  const SYMBOLS = { reproduced: "✓", "direction only": "≈", inconclusive: "±", contradicted: "✗" };
  const form = document.getElementById("find");
  const lines = [...document.querySelectorAll("#found > li")];
  const filters = [...form.querySelectorAll("select")];
  const query = form.querySelector("[name=q]");
  const level = form.querySelector("[name=level]");
  const count = document.getElementById("count");
  const reported = lines.map((line) => line.dataset.outcome);
  const told = {}; // the numbers of all seeds, by paper and claim
  let loading = null;
  let words = [];

  noregret.claims = (paper, claims) => { told[paper] = claims; };

  const script = (source) => new Promise((done, failed) => {
    const element = document.createElement("script");
    element.src = source;
    element.addEventListener("load", done);
    element.addEventListener("error", failed);
    document.head.append(element);
  });

  // The outcome of a claim at the level that is chosen; that of the report where it has no numbers.
  const outcome = (line, i) => {
    const claim = told[line.dataset.paper]?.[line.dataset.id];
    if (!claim || line.dataset.what !== "claim" || level.value === LEVEL) return reported[i];
    return judging.judge({ ...claim, readings: {} }, { level: Number(level.value) }).default.verdict;
  };

  const show = () => {
    let [shown, others] = [0, 0];
    const wanted = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    lines.forEach((line, i) => {
      const fits = filters.every(({ name, value }) => !value || line.dataset[name] === value) && wanted.every((word) => words[i].includes(word));
      line.hidden = !fits;
      shown += fits;
      others += line.dataset.outcome !== reported[i];
    });
    const moved = level && level.value !== LEVEL ? `; at this level ${others} outcome${others === 1 ? " is another one" : "s are others"}` : "";
    count.textContent = `${shown} of ${lines.length}${moved}`;
  };

  const judge = () => {
    lines.forEach((line, i) => {
      const now = outcome(line, i);
      if (now !== line.dataset.outcome) {
        const badge = line.querySelector(".verdict");
        badge.className = `verdict ${now.match(/\w+/g).join("-")}`;
        badge.textContent = `${SYMBOLS[now] ?? "?"} ${now}`;
        line.dataset.outcome = now;
      }
    });
    words = lines.map((line) => line.textContent.toLowerCase());
    show();
  };

  const update = async () => {
    if (level && level.value !== LEVEL) {
      loading ??= Promise.all(form.dataset.scripts.split(" ").map(script));
      await loading;
    }
    if (!level || (level.value !== "" && level.checkValidity())) judge();
  };

  const fields = [query, ...filters, ...(level ? [level] : [])];
  const usual = (field) => (field === level ? LEVEL : "");

  const keep = () => {
    const said = new URLSearchParams();
    for (const field of fields) if (field.value !== usual(field)) said.set(field.name, field.value);
    history.replaceState(null, "", said.size ? `?${said}` : location.pathname);
  };

  const read = () => {
    const said = new URLSearchParams(location.search);
    for (const field of fields) {
      field.value = said.get(field.name) ?? usual(field);
      if (field.selectedIndex < 0 || (field === level && !field.checkValidity())) field.value = usual(field);
    }
    update();
  };

  words = lines.map((line) => line.textContent.toLowerCase());
  form.hidden = false;
  form.addEventListener("input", () => { keep(); update(); });
  form.addEventListener("reset", () => { setTimeout(() => { keep(); update(); }); });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("popstate", read);
  read();
})();
