"use strict";
(() => {
  const wanted = (event) => !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, textarea, select");

  // A key does what its button does. Keys that a field or a shortcut wants are left to it.
  const plain = document.querySelector("form[data-keys]");
  if (plain) {
    let sent = false;
    addEventListener("keydown", (event) => {
      const field = plain.querySelector("[data-reword]");
      if (field && event.key === "Escape" && event.target === field) { field.blur(); return; }
      if (field && event.key === "Enter" && !event.shiftKey && event.target === field && !event.isComposing) {
        event.preventDefault();
        plain.querySelector("button[value=k]").click();
      }
      if (sent || event.repeat || !wanted(event)) return;
      if (field && event.key.toLowerCase() === "e") { event.preventDefault(); field.focus(); field.select(); return; }
      const button = [...plain.querySelectorAll("button[name=key]")].find((one) => one.value === event.key.toLowerCase());
      if (!button || button.disabled) return;
      event.preventDefault();
      sent = true;
      button.click();
    });
  }

  // Labelling: the page holds the next pairs, so a key shows the next one at once. Keys are sent in the order they were
  // pressed, all that wait in one request; those that come while no pair is there wait for one.
  const form = document.querySelector("form[data-labelling]");
  if (!form) return;
  const AHEAD = 10, TRIES = 4;
  const pairs = form.querySelector("[data-pairs]"), address = location.pathname, token = form.elements.csrf_token.value;
  const waiting = [], unsent = [], answered = [];
  let current = pairs.querySelector("article:not([hidden])"), done = Number(form.dataset.done), sending = false, ended = false, stale = false;
  const total = Number(form.dataset.total);
  const say = (text) => {
    document.querySelector("[data-status]").textContent = text;
    form.querySelector("[data-last]").textContent = text && `Last: ${text}`;
  };
  const counted = () => {
    document.querySelector("[data-progress]").value = done;
    const under = document.querySelector(".head h1 + p");
    if (under) under.textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} pairs`;
    form.querySelector("button[value=u]").disabled = !done;
  };
  const body = (presses) => new URLSearchParams({ csrf_token: token, presses: JSON.stringify(presses) });
  // A long document begins at the first word that matches.
  function findMark(pair) {
    const box = pair.querySelector(".text.boxed"), mark = box.querySelector("mark");
    if (mark) box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - 40;
  }
  function show(pair) {
    if (current) current.hidden = true;
    current = pair;
    if (pair) {
      pair.hidden = false;
      form.elements.case.value = pair.dataset.case;
      form.elements.document.value = pair.dataset.document;
      findMark(pair);
    }
    form.hidden = !pair && ended;
    document.querySelector("[data-finished]").hidden = Boolean(pair) || !ended;
  }
  function press(button) {
    const key = button.value;
    if (key === "u") {
      const back = answered.pop();
      unsent.push(["", "", "u"]);
      done -= 1;
      ended = false;
      if (back) { current?.before(back); show(back); } else stale = true;
      say("undone");
    } else {
      unsent.push([current.dataset.case, current.dataset.document, key]);
      answered.push(current);
      done += 1;
      const next = current.nextElementSibling;
      if (done >= total) ended = true;
      show(next);
      say(key === "s" ? "skipped" : `${key}: ${button.querySelector("span").textContent}`);
    }
    counted();
  }
  function drain() {
    while (waiting.length) {
      const button = [...form.querySelectorAll("button[name=key]")].find((one) => one.value === waiting[0]);
      if (!button || button.disabled) { waiting.shift(); continue; }
      // No pair is here yet: the key waits for it.
      if (waiting[0] !== "u" && !current) break;
      waiting.shift();
      press(button);
    }
    send();
  }
  async function post(presses) {
    for (let tried = 1; ; tried += 1) {
      try {
        const reply = await fetch(address, { method: "POST", body: body(presses), keepalive: true });
        if (reply.ok) return (await reply.json()).kept;
        if (reply.status < 500 && reply.status !== 429) return 0;
      } catch { /* the network is away for a moment */ }
      if (tried === TRIES) return 0;
      await new Promise((go) => setTimeout(go, 250 * 2 ** tried));
    }
  }
  async function load() {
    const reply = await fetch(address, { headers: { Accept: "text/html" } });
    if (!reply.ok) return;
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const key = (pair) => JSON.stringify([pair.dataset.case, pair.dataset.document]);
    const here = new Set([...pairs.children].map(key));
    const fresh = [...page.querySelectorAll("[data-pairs] article")].filter((pair) => !here.has(key(pair)));
    for (const pair of fresh) { pair.hidden = true; pairs.append(pair); }
    if (!current && fresh.length) show(fresh[0]);
    if (!current) { ended = true; show(null); }
  }
  async function send() {
    if (sending) return;
    sending = true;
    while (unsent.length) {
      const batch = unsent.splice(0, 100);
      const kept = await post(batch);
      if (kept < batch.length) say(`${batch.length - kept} of ${batch.length} keys were not kept. Load the page again.`);
    }
    // What was undone was answered before this page was loaded: the server knows which pair it is.
    if (stale) { location.reload(); return; }
    let left = 0;
    for (let pair = current?.nextElementSibling; pair; pair = pair.nextElementSibling) left += 1;
    if (left < AHEAD && done < total && !unsent.length) await load();
    sending = false;
    if (waiting.length || unsent.length) drain();
  }
  if (current) findMark(current);
  addEventListener("keydown", (event) => {
    if (event.repeat || !wanted(event)) return;
    const key = event.key.toLowerCase();
    if (!form.querySelector(`button[name=key][value="${CSS.escape(key)}"]`)) return;
    event.preventDefault();
    waiting.push(key);
    drain();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter) { waiting.push(event.submitter.value); drain(); }
  });
  // Whoever leaves in the middle of a burst loses nothing.
  addEventListener("pagehide", () => { if (unsent.length) navigator.sendBeacon(address, body(unsent.splice(0))); });
})();
