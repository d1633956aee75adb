"use strict";
// Draws every chart of the page from the figure beside it, in the colours in force.
(() => {
  const root = document.documentElement;
  // A colour that differs between light and dark is only known where something wears it.
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  const named = (name) => {
    const value = getComputedStyle(root).getPropertyValue(name).trim();
    if (!value.startsWith("light-dark")) return value;
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const colour = (text) => text.replace(/var\((--[\w-]+)\)/g, (_, name) => named(name));
  const painted = (value) => {
    if (typeof value === "string") return colour(value);
    if (Array.isArray(value)) return value.map(painted);
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, painted(inner)]));
    return value;
  };
  const draw = () => {
    for (const place of document.querySelectorAll(".chart")) {
      const figure = painted(JSON.parse(place.querySelector("script").textContent));
      const spot = place.querySelector("div");
      Plotly.react(spot, figure.data, figure.layout, { displayModeBar: false, responsive: true });
      if (place.dataset.follow && !place.dataset.bound) {
        place.dataset.bound = "yes";
        spot.on("plotly_click", (event) => {
          const to = event.points[0] && event.points[0].customdata;
          if (typeof to === "string" && to.startsWith("/")) location.assign(to);
        });
      }
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("assay-theme", draw);
  // Paper is light, whatever the screen is.
  addEventListener("beforeprint", () => { root.classList.add("paper"); draw(); });
  addEventListener("afterprint", () => { root.classList.remove("paper"); draw(); });
})();
