"use strict";
// Filters the queries of a report. Without script all of the first ones are shown, and the filter is not.
(() => {
  const form = document.querySelector("[data-filter]");
  if (!form) return;
  const [words, kind, all, told] = ["words", "kind", "all", "told"].map((name) => form.querySelector(`[data-part=${name}]`));
  const queries = [...document.querySelectorAll("details[data-text]")];
  let limit = Number(form.dataset.filter);
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
