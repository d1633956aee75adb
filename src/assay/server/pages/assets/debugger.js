"use strict";
// The page works without this: it makes the controls live, shows the chosen passage in place, and adds keys.
(() => {
  const say = (text) => { const status = document.querySelector("[data-status]"); if (status) status.textContent = text; };
  const inField = (target) => target.closest("input, textarea, select, [contenteditable]");
  const alike = (passage) => [...document.querySelectorAll("[data-lists] [data-passage]")].filter((one) => one.dataset.passage === passage);
  const light = (passage, on) => { for (const one of alike(passage)) one.classList.toggle("lit", on); };
  const shown = () => document.querySelector("[data-shown] article.open") || document.querySelector("[data-shown] article:target")
    || document.querySelector("[data-shown] article");

  // A long text begins at the first word that matches.
  function findMark(article) {
    const box = article?.querySelector(".text.boxed"), mark = box?.querySelector("mark");
    if (mark) box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - 40;
  }

  // A passage is shown in place; its address stays in the bar, so that it can be sent.
  function open(number) {
    const article = document.getElementById(`p-${number}`);
    if (!article) return;
    for (const other of document.querySelectorAll("[data-shown] article")) other.classList.toggle("open", other === article);
    article.parentElement.classList.add("picked");
    for (const one of document.querySelectorAll("[data-lists] .chosen")) one.classList.remove("chosen");
    for (const one of alike(article.dataset.passage)) one.classList.add("chosen");
    history.replaceState(null, "", `#p-${number}`);
    findMark(article);
    const box = article.getBoundingClientRect();
    if (box.top > innerHeight || box.bottom < 0) article.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#p-"]');
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open(link.hash.slice(3));
  });
  for (const [kind, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]])
    document.addEventListener(kind, (event) => {
      const entry = event.target.closest?.("[data-lists] a.entry");
      if (entry) light(entry.dataset.passage, on);
    });

  // A control that changed is a new address: its page is loaded and only the results are exchanged.
  const controls = document.querySelector("form[data-controls]");
  let wait = 0, asked = 0;
  async function search() {
    if (!controls.checkValidity()) return;
    const fields = [...new FormData(controls)].filter(([, value]) => value !== "");
    const address = `${controls.action}?${new URLSearchParams(fields)}`;
    const mine = ++asked;
    document.getElementById("debugged").classList.add("waiting");
    const reply = await fetch(address, { headers: { Accept: "text/html" } });
    const text = await reply.text();
    if (mine !== asked) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.getElementById("debugged") || page.querySelector("main");
    const old = document.getElementById("debugged");
    const part = document.createElement("div");
    part.id = "debugged";
    part.className = page.getElementById("debugged") ? fresh.className : "debugged";
    part.append(...fresh.childNodes);
    old.replaceWith(part);
    showCopy();
    findMark(shown());
    history.replaceState(null, "", address);
    say(page.querySelector("#debugged h2")?.textContent || "The search could not be made");
  }
  if (controls) {
    // On a phone the results come first; the controls are one press away.
    if (innerWidth < 700 && controls.q.value) controls.closest("details").open = false;
    controls.addEventListener("input", (event) => {
      clearTimeout(wait);
      wait = setTimeout(search, event.target.matches("select, [type=checkbox]") ? 0 : 350);
    });
    controls.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(wait); search(); });
  }

  // Grades are kept without leaving the page; what was kept is shown at every place of the item.
  async function judge(form, button) {
    const body = new URLSearchParams(new FormData(form));
    body.set("key", button.value);
    const reply = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    if (!reply.ok) { say("The grade was not kept. Load the page again."); return; }
    const grade = new URL(reply.url).searchParams.get("said")?.match(/\d$/)?.[0] ?? button.value;
    for (const chip of document.querySelectorAll("[data-grade]"))
      if (chip.dataset.grade === form.dataset.item) { chip.hidden = false; chip.textContent = `yours ${grade}`; }
    for (const own of form.querySelectorAll("button")) own.toggleAttribute("aria-pressed", false);
    form.querySelector(`button[value="${grade}"]`)?.setAttribute("aria-pressed", "true");
    say(`Your grade is kept: ${grade}`);
  }
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-judging]");
    if (!form || !event.submitter) return;
    event.preventDefault();
    judge(form, event.submitter);
  });

  async function copy(button) {
    const text = document.getElementById(button.dataset.copied).textContent;
    try { await navigator.clipboard.writeText(text); say("Copied"); button.lastChild.textContent = " copied"; }
    catch { getSelection().selectAllChildren(document.getElementById(button.dataset.copied)); say("Selected: copy it yourself"); }
  }
  const showCopy = () => { for (const button of document.querySelectorAll("[data-copied]")) button.hidden = false; };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copied]");
    if (button) copy(button);
  });

  addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || inField(event.target)) return;
    const key = event.key.toLowerCase();
    const button = shown()?.querySelector(`form[data-judging] button[value="${CSS.escape(key)}"]`)
      || document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!button || button.disabled || button.hidden) return;
    event.preventDefault();
    button.click();
  });
  showCopy();
  findMark(shown());
  if (/^#p-\d+$/.test(location.hash)) open(location.hash.slice(3));
})();
