"use strict";
(() => {
  const root = document.documentElement;
  const FIRST = 50;

  const colour = (text) =>
    text.replace(/var\((--[\w-]+)\)/g, (_, name) => getComputedStyle(root).getPropertyValue(name).trim());
  const painted = (value) => {
    if (typeof value === "string") return colour(value);
    if (Array.isArray(value)) return value.map(painted);
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, painted(inner)]));
    return value;
  };
  const draw = () => {
    if (typeof Plotly === "undefined") return;
    for (const place of document.querySelectorAll(".chart")) {
      const figure = painted(JSON.parse(place.querySelector("script").textContent));
      Plotly.react(place.querySelector("div"), figure.data, figure.layout, { displayModeBar: false, responsive: true });
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => { root.classList.add("paper"); draw(); });
  addEventListener("afterprint", () => { root.classList.remove("paper"); draw(); });

  const form = document.querySelector(".filter");
  if (!form) return;
  const [words, kind, all, told] = ["words", "kind", "all", "told"].map((name) => form.querySelector(`[data-part=${name}]`));
  const queries = [...document.querySelectorAll("details[data-text]")];
  let limit = FIRST;
  const sift = () => {
    const wanted = words.value.toLowerCase().trim();
    const fits = (one) =>
      one.dataset.text.includes(wanted) && (!kind.value || one.dataset.kinds.split(" ").includes(kind.value));
    let found = 0;
    for (const one of queries) {
      const fit = fits(one);
      one.hidden = !fit || found >= limit;
      found += fit;
    }
    told.textContent = `${Math.min(found, limit)} of ${queries.length} shown`;
    all.hidden = found <= limit;
  };
  words.addEventListener("input", sift);
  kind.addEventListener("change", sift);
  all.addEventListener("click", () => { limit = Infinity; sift(); });
  form.hidden = false;
  sift();
})();
