"use strict";
// Reads files of a folder in the browser and saves each as a memory; a file that was saved before is a new version.
(() => {
  const KINDS = /\.(md|markdown|txt|rst|org)$/i;
  const LONGEST = 1_000_000;
  const box = document.querySelector("[data-upload]");
  if (!box) return;
  const progress = box.querySelector("[data-progress]"), problems = box.querySelector("[data-problems]"), done = box.querySelector("[data-done]");
  const say = (text) => { progress.textContent = text; };
  const complain = (path, why) => {
    const line = document.createElement("li");
    line.textContent = `${path}: ${why}`;
    problems.append(line);
  };
  const titleOf = (path, text) => text.match(/^#\s+(.{1,200})$/m)?.[1].trim() || path.split("/").pop().replace(KINDS, "");
  const wait = (seconds) => new Promise((go) => setTimeout(go, 1000 * seconds));
  const send = async (memory) => {
    for (;;) {
      const answer = await fetch("/api/memory", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(memory) });
      if (answer.status !== 429) return { ok: answer.ok, body: await answer.json() };
      await wait(Number(answer.headers.get("Retry-After")) || 2);
    }
  };
  const take = async (files) => {
    const wanted = [...files].filter((file) => KINDS.test(file.name)), counts = {};
    problems.replaceChildren();
    let place = 0;
    for (const file of wanted) {
      const path = file.webkitRelativePath || file.name, slash = path.lastIndexOf("/");
      say(`${place++} of ${wanted.length} files`);
      const text = await file.text();
      if (!text.trim()) { complain(path, "it is empty"); continue; }
      if (text.length > LONGEST) { complain(path, "it is too long; use assay ingest"); continue; }
      const answer = await send({ title: titleOf(path, text), body: text, folder: slash > 0 ? path.slice(0, slash) : "", rel_path: path, source_id: `upload/${path}`.slice(0, 500) });
      if (!answer.ok) { complain(path, `${answer.body.error.message}. ${answer.body.error.remedy}`); continue; }
      const word = answer.body.unchanged ? "unchanged" : answer.body.decision;
      counts[word] = (counts[word] ?? 0) + 1;
      if (answer.body.decision === "reject") complain(path, answer.body.reason);
    }
    const left = files.length - wanted.length;
    const told = Object.entries(counts).map(([word, count]) => `${count} ${{ store: "saved", merge: "merged", supersede: "saved in place of others", reject: "rejected" }[word] ?? word}`);
    say(`${wanted.length} files read: ${told.join(", ") || "none saved"}.${left ? ` ${left} of other kinds were left out.` : ""}`);
    done.hidden = !wanted.length;
  };
  for (const field of box.querySelectorAll("input[type=file]"))
    field.addEventListener("change", () => { if (field.files.length) take(field.files).catch((problem) => say(`It stopped: ${problem.message}`)); });
})();
