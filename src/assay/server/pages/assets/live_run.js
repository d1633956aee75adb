"use strict";
// Puts the newest state of a run in progress in place, once a second, and opens the verdict when it is there.
(() => {
  const place = document.querySelector("[data-live-run]");
  if (!place || place.dataset.goesOn !== "yes") return;
  const phase = document.querySelector("[data-phase]");
  let failures = 0;
  const wait = () => setTimeout(look, failures ? 5000 : 1000);
  const look = async () => {
    try {
      const answer = await fetch(`${place.dataset.liveRun}/live/part`, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(String(answer.status));
      place.innerHTML = await answer.text();
      failures = 0;
    } catch {
      failures += 1;
      if (failures === 3) phase.textContent = "The server does not answer. The page tries again.";
      wait();
      return;
    }
    const now = place.querySelector("[data-phase-is]").dataset.phaseIs;
    if (phase.dataset.was !== now) {
      phase.dataset.was = now;
      phase.textContent = place.querySelector("[data-sentence]").textContent;
    }
    if (now === "finished") location.assign(place.dataset.liveRun);
    else if (["stopped", "failed", "interrupted"].includes(now)) location.reload();
    else wait();
  };
  wait();
})();
