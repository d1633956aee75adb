"use strict";
// Runs before the page is drawn: which colours, and that there is script at all.
(() => {
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("assay-theme"); } catch { return null; } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.classList.add("js");
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  addEventListener("DOMContentLoaded", () => {
    const theme = document.querySelector("[data-theme-switch]");
    const say = () => { theme.textContent = dark() ? "Light" : "Dark"; };
    say();
    theme.hidden = false;
    theme.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("assay-theme", root.dataset.theme); } catch { /* private windows keep nothing */ }
      say();
      dispatchEvent(new Event("assay-theme"));
    });
    const menu = document.querySelector(".menu"), nav = document.querySelector(".side nav");
    menu.hidden = false;
    menu.addEventListener("click", () => {
      const open = nav.classList.toggle("open");
      menu.setAttribute("aria-expanded", String(open));
    });
    // A choice in a filter is a new address at once; without script there is the button.
    for (const form of document.querySelectorAll("form[data-live]"))
      form.addEventListener("change", (event) => { if (event.target.matches("select, input[type=checkbox], input[type=date]")) form.requestSubmit(); });
    // Empty fields say nothing, so they stay out of the address.
    for (const form of document.querySelectorAll("form[method=get]"))
      form.addEventListener("submit", () => {
        for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
        setTimeout(() => { for (const field of form.elements) field.disabled = false; });
      });
  });
})();
