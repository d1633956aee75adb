"use strict";
// Shows what a mark of a chart says as soon as it is pointed at, touched or focused. Without script the browser does
// so after a while, and the table behind the chart has every value.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const say = (mark) => {
    // Browsers show a title by themselves: it is kept aside, so that it is not shown twice.
    for (const title of mark.querySelectorAll("title")) { mark.dataset.says = title.textContent; title.remove(); }
    return mark.dataset.says || "";
  };
  const show = (event) => {
    const mark = event.target.closest && event.target.closest(".chart .mark");
    const text = mark && say(mark);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(4, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 4);
    tip.style.left = `${left}px`;
    tip.style.top = `${at.top > own.height + 8 ? at.top - own.height - 6 : at.bottom + 6}px`;
  };
  for (const kind of ["pointerover", "focusin", "touchstart"]) document.addEventListener(kind, show, { passive: true });
  for (const kind of ["focusout", "scroll"]) addEventListener(kind, () => { tip.hidden = true; }, { capture: true, passive: true });
})();
