"use strict";
// Fills the stages while a question is answered, then takes over what the server made of it.
(() => {
  const one = (root, selector) => root.querySelector(selector);

  const form = one(document, "form[data-ask]");
  if (form) {
    const field = one(form, "textarea");
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
    });
    form.addEventListener("submit", () => { one(form, "button").disabled = true; });
    addEventListener("pageshow", () => { one(form, "button").disabled = false; });
  }

  // Notices: one can be put away, and leads to the details it speaks of. A citation opens its passage.
  const opened = (place) => {
    for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const inner = one(place, "details");
    if (inner) inner.open = true;
    place.scrollIntoView({ block: "center" });
  };
  document.addEventListener("click", (event) => {
    const away = event.target.closest("[data-dismiss]");
    if (away) { away.closest("[data-notice]").hidden = true; return; }
    const link = event.target.closest("[data-details], [data-cite]");
    if (!link) return;
    const place = document.getElementById(link.getAttribute("href").slice(1));
    if (!place) return;
    event.preventDefault();
    for (const lit of document.querySelectorAll(".passages .lit")) lit.classList.remove("lit");
    // A citation may lead to the words inside a passage: both are lit.
    const passage = place.closest(".passages li") || place;
    if (link.matches("[data-cite]")) for (const lit of [place, passage]) lit.classList.add("lit");
    opened(place);
    const summary = one(passage, "summary");
    if (summary) summary.focus({ preventScroll: true });
  });

  const root = one(document, "[data-live-question]");
  if (!root) return;
  const STEPS = { started: 15, evaluating: 55, evaluated: 85, finished: 100 };
  const SAYS = {
    plan: { started: "Making a plan", evaluating: "Looking at the plan" },
    search: { started: "Searching", evaluating: "Looking at what was found" },
    answer: { started: "Writing the answer", evaluating: "Looking at the answer" },
  };
  // The server chooses every colour: a class for each state that a stage can show here.
  const tones = JSON.parse(root.dataset.tones);
  const chip = (card, text, state) => {
    const place = one(card, "[data-state]");
    place.textContent = text;
    place.className = `chip ${tones[state]}`;
  };
  const drawn = (scores, failed) => Object.entries(scores).flatMap(([name, value]) => {
    const label = document.createElement("span"), figure = document.createElement("span");
    label.textContent = name.replaceAll("_", " ");
    figure.textContent = value.toFixed(2);
    figure.className = "value";
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    bar.setAttribute("class", `bar ${tones[failed.includes(name) ? "failed" : "passed"]}`);
    const rect = bar.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
    rect.setAttribute("width", `${(100 * value).toFixed(1)}%`);
    rect.setAttribute("height", "100%");
    return [label, bar, figure];
  });
  const told = (event) => {
    const card = one(root, `[data-stage="${event.stage}"]`);
    if (!card) return;
    const data = event.data || {};
    const attempt = event.of > 1 ? ` (${event.attempt}/${event.of})` : "";
    const says = (SAYS[event.stage] || {})[event.kind];
    if (event.kind in STEPS) one(card, "[data-progress]").value = STEPS[event.kind];
    if (says) {
      chip(card, "working", "working");
      one(card, "[data-state]").classList.add("now");
      one(card, "[data-doing]").textContent = says + attempt;
      one(root, "[data-said]").textContent = says + attempt;
    }
    if (typeof data.score === "number") {
      const score = one(card, "[data-score]");
      score.textContent = data.score.toFixed(2);
      one(card, "[data-dimensions]").replaceChildren(...drawn(data.scores || {}, data.failed_dimensions || []));
      const state = data.passed ? "passed" : "failed";
      chip(card, state, state);
    }
    if (event.kind === "iterating") {
      one(card, "[data-doing]").textContent = `Trying again: ${(data.mode || "").replaceAll("_", " ")}`;
      one(card, "[data-progress]").value = 10;
    }
    if (event.kind === "regenerating") one(card, "[data-doing]").textContent = "Writing it again";
    if (event.kind === "evaluation_skipped" || event.kind === "judge_failed") {
      chip(card, event.kind === "judge_failed" ? "not read" : "skipped", "skipped");
      one(card, "[data-doing]").textContent = event.message;
    }
    if (event.kind === "finished") {
      one(card, "[data-doing]").textContent = data.passages === undefined ? "" : `${data.passages} passages`;
      if (typeof data.score !== "number") chip(card, "done", "done");
    }
  };
  const arrived = async () => {
    const reply = await fetch(root.dataset.result, { headers: { Accept: "text/html" } });
    const made = new DOMParser().parseFromString(await reply.text(), "text/html");
    const answer = one(made, "[data-answer]");
    if (!answer) { location.reload(); return; }
    root.replaceChildren(document.adoptNode(answer));
    if (answer.dataset.address) history.replaceState(null, "", answer.dataset.address);
  };

  let failures = 0;
  const source = new EventSource(root.dataset.events);
  source.addEventListener("stage", (event) => { failures = 0; told(JSON.parse(event.data)); });
  source.addEventListener("dropped", (event) => {
    one(root, "[data-said]").textContent = `${JSON.parse(event.data).dropped} earlier steps are not shown`;
  });
  source.addEventListener("ended", () => { source.close(); arrived(); });
  source.addEventListener("error", () => {
    // The browser comes back by itself and is told what it missed; a server that is gone for good is said so.
    failures += 1;
    if (source.readyState === EventSource.CLOSED || failures > 20) {
      source.close();
      const lost = document.createElement("div");
      lost.className = `notice ${tones.skipped}`;
      lost.setAttribute("role", "alert");
      lost.textContent = "The server does not know this question any more. If it was answered, it is in the list of questions.";
      root.prepend(lost);
    }
  });
})();
