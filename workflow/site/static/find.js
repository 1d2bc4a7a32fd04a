// Search and filters over everything that the site has a line for. The address keeps them; with no script all lines are shown.
"use strict";

(() => {
  const form = document.getElementById("find");
  const lines = [...document.querySelectorAll("#found > li")];
  const words = lines.map((line) => line.textContent.toLowerCase());
  const query = form.querySelector("[name=q]");
  const filters = [...form.querySelectorAll("select")];
  const fields = [query, ...filters];
  const count = document.getElementById("count");

  const show = () => {
    const wanted = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    lines.forEach((line, i) => {
      const fits = filters.every(({ name, value }) => !value || line.dataset[name] === value) && wanted.every((word) => words[i].includes(word));
      line.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${lines.length}`;
  };

  const keep = () => {
    const said = new URLSearchParams();
    for (const field of fields) if (field.value) said.set(field.name, field.value);
    history.replaceState(null, "", said.size ? `?${said}` : location.pathname);
  };

  const read = () => {
    const said = new URLSearchParams(location.search);
    for (const field of fields) {
      field.value = said.get(field.name) ?? "";
      if (field.selectedIndex < 0) field.value = "";
    }
    show();
  };

  form.hidden = false;
  form.addEventListener("input", () => { keep(); show(); });
  form.addEventListener("reset", () => { setTimeout(() => { keep(); show(); }); });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("popstate", read);
  read();
})();
