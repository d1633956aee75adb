"use strict";
// A key does what its button does. Keys that a field or a shortcut wants are left to it.
(() => {
  const form = document.querySelector("form[data-keys]");
  if (!form) return;
  let sent = false;
  addEventListener("keydown", (event) => {
    if (sent || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) return;
    const button = [...form.querySelectorAll("button[name=key]")].find((one) => one.value === event.key.toLowerCase());
    if (!button || button.disabled) return;
    event.preventDefault();
    sent = true;
    button.click();
  });
})();
