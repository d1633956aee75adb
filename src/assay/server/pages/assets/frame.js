"use strict";
// Runs before the page is drawn: which colours, and that there is script at all.
(() => {
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("assay-theme"); } catch { return null; } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.classList.add("js");
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  // A text that was copied: the clipboard needs a secure address, so there is the old way too.
  const copy = async (button) => {
    const text = button.parentElement.querySelector("code").textContent;
    try { await navigator.clipboard.writeText(text); }
    catch {
      const field = document.createElement("textarea");
      field.value = text;
      button.after(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  // Times are written by the server as how long ago; the exact one is in the viewer's own zone, with UTC beside it.
  const exact = (at) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(at);
  const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
  const keptTimes = () => { try { return localStorage.getItem("assay-times") || "ago"; } catch { return "ago"; } };
  const showTimes = (how = keptTimes()) => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      time.dataset.ago ??= time.textContent;
      time.title = `${exact(at)} ${zone()}\n${time.dateTime} (UTC)`;
      time.textContent = how === "exact" ? exact(at) : time.dataset.ago;
    }
  };
  const switchTimes = () => {
    const how = keptTimes() === "exact" ? "ago" : "exact";
    try { localStorage.setItem("assay-times", how); } catch { /* private windows keep nothing */ }
    showTimes(how);
  };
  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  // A table that is wider than its box is scrolled with the arrow keys: the box must be reachable with Tab.
  const reachBoxes = () => {
    for (const box of document.querySelectorAll(".wide:not([aria-label]), .command:not([aria-label])")) {
      if (box.scrollWidth <= box.clientWidth) continue;
      const heading = box.closest("section")?.querySelector("h2, h3, p");
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", heading?.textContent.trim().slice(0, 80) || "Table");
    }
  };
  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60) || "table";
  // Tables that the server does not export (they are whole on the page) are exported from the page.
  const cells = (row) => [...row.cells].map((cell) => {
    const time = cell.querySelector("time[datetime]");
    return time ? time.dateTime : cell.innerText.trim().replace(/\s+/g, " ");
  });
  const readTable = (table) => ({
    names: cells(table.tHead.rows[table.tHead.rows.length - 1]).map((name, place) => name || `column ${place + 1}`),
    rows: [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => row.cells.length > 1).map(cells),
  });
  const asCsv = ({ names, rows }) => [names, ...rows].map((row) => row.map((text) => {
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",")).join("\r\n") + "\r\n";
  const asJson = ({ names, rows }) => JSON.stringify(rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row[place] ?? null]))), null, 1);
  const action = (text, said, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "bare small";
    button.textContent = text;
    button.setAttribute("aria-label", said);
    button.addEventListener("click", act);
    return button;
  };
  const titleOf = (element) => (element.closest("section, .card")?.querySelector("h2") ?? document.querySelector("h1"))?.textContent.trim() ?? "";
  const addTableExports = () => {
    for (const table of document.querySelectorAll("main table")) {
      const box = table.closest(".wide") ?? table;
      if (!table.tHead || table.tBodies[0]?.rows.length < 3 || table.closest("section, .card")?.querySelector(".exports")) continue;
      const bar = document.createElement("p");
      bar.className = "exports small of-table";
      const title = titleOf(table);
      bar.append(
        action("CSV", `${title} as CSV`, () => save(`assay-${slug(title)}.csv`, new Blob([asCsv(readTable(table))], { type: "text/csv" }))),
        action("JSON", `${title} as JSON`, () => save(`assay-${slug(title)}.json`, new Blob([asJson(readTable(table))], { type: "application/json" }))));
      box.after(bar);
    }
  };
  // A chart as a picture: its drawings in one, each with the colours that are computed for it here.
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
  const drawChart = (figure) => {
    const plot = figure.querySelector(".plot") ?? figure, around = plot.getBoundingClientRect();
    const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const [width, height] = [Math.ceil(around.width), Math.ceil(around.height)];
    for (const [name, value] of [["xmlns", "http://www.w3.org/2000/svg"], ["width", width], ["height", height], ["viewBox", `0 0 ${width} ${height}`]]) whole.setAttribute(name, value);
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", getComputedStyle(figure.closest(".card") ?? document.body).backgroundColor]]) ground.setAttribute(name, value);
    whole.append(ground);
    for (const svg of plot.querySelectorAll("svg")) {
      if (svg.parentElement.closest("svg")) continue;
      const place = svg.getBoundingClientRect(), copied = svg.cloneNode(true);
      const from = [svg, ...svg.querySelectorAll("*")], to = [copied, ...copied.querySelectorAll("*")];
      from.forEach((element, index) => { for (const name of STYLES) to[index].style.setProperty(name, getComputedStyle(element).getPropertyValue(name)); });
      for (const [name, value] of [["x", place.left - around.left], ["y", place.top - around.top], ["width", place.width], ["height", place.height]]) copied.setAttribute(name, value);
      whole.append(copied);
    }
    for (const label of plot.querySelectorAll(".label a, .label span")) {
      const place = label.getBoundingClientRect(), text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.textContent = label.textContent;
      for (const [name, value] of [["x", place.left - around.left], ["y", place.bottom - around.top - 4], ["fill", getComputedStyle(label).color], ["font-size", "13"], ["font-family", "sans-serif"]]) text.setAttribute(name, value);
      whole.append(text);
    }
    return { text: new XMLSerializer().serializeToString(whole), width, height };
  };
  const savePng = (figure, name) => {
    const { text, width, height } = drawChart(figure), image = new Image();
    image.addEventListener("load", () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * width, 2 * height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(`${name}.png`, blob));
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };
  const addChartExports = () => {
    for (const figure of document.querySelectorAll("main figure.chart")) {
      if (!figure.querySelector("svg")) continue;
      const title = titleOf(figure), name = `assay-${slug(title)}`, bar = document.createElement("p");
      bar.className = "exports small of-chart";
      bar.append(
        action("SVG", `${title} as SVG`, () => save(`${name}.svg`, new Blob([drawChart(figure).text], { type: "image/svg+xml" }))),
        action("PNG", `${title} as PNG`, () => savePng(figure, name)));
      figure.append(bar);
    }
  };
  // Saved views: an address with its filters under a name, kept by this browser for this tenant.
  const viewsKey = () => `assay-views-${document.body.dataset.tenant}`;
  const readViews = () => { try { return JSON.parse(localStorage.getItem(viewsKey())) ?? []; } catch { return []; } };
  const writeViews = (views) => { try { localStorage.setItem(viewsKey(), JSON.stringify(views)); } catch { /* private windows keep nothing */ } listViews(); };
  const here = () => location.pathname + location.search;
  const listViews = () => {
    const nav = document.querySelector(".side nav"), views = readViews();
    nav.querySelector("[data-views]")?.remove();
    if (!views.length) return;
    const group = document.createElement("div"), head = document.createElement("strong");
    group.dataset.views = "";
    head.textContent = "Saved views";
    group.append(head, ...views.map(({ name, address }) => {
      const row = document.createElement("span"), link = document.createElement("a"), drop = document.createElement("button");
      [link.href, link.textContent, drop.type, drop.className, drop.textContent] = [address, name, "button", "bare", "×"];
      if (address === here()) link.setAttribute("aria-current", "page");
      drop.setAttribute("aria-label", `× Remove the view ${name}`);
      drop.addEventListener("click", () => writeViews(readViews().filter((view) => view.name !== name)));
      row.className = "saved-view";
      row.append(link, drop);
      return row;
    }));
    nav.append(group);
  };
  const offerView = () => {
    const form = document.querySelector("main form.filters[method=get]");
    if (!form || location.search.length < 2) return;
    const open = action("Save view", "Save view under a name", () => {
      const box = document.createElement("form"), name = document.createElement("input"), keep = document.createElement("button");
      [box.className, name.name, name.required, name.maxLength, keep.textContent] = ["row save-view", "view", true, 60, "Save view"];
      name.setAttribute("aria-label", "Name of the view");
      name.placeholder = "Name of the view";
      box.append(name, keep);
      box.addEventListener("submit", (event) => {
        event.preventDefault();
        writeViews([...readViews().filter((view) => view.name !== name.value.trim()), { name: name.value.trim(), address: here() }]);
        box.replaceWith(open);
      });
      open.replaceWith(box);
      name.focus();
    });
    open.className = "";
    form.after(open);
    open.classList.add("save-view");
  };
  // The palette: what the page offers at once, what the server finds while one types.
  const openPalette = (theme) => {
    const palette = document.querySelector(".palette"), field = palette.querySelector("input"), list = palette.querySelector("ul");
    const opener = document.querySelector("[data-palette-open]");
    const own = [
      { kind: "do", title: "Switch between light and dark", act: () => theme.click() },
      { kind: "do", title: "Switch between exact times and how long ago", act: switchTimes },
      ...[...document.querySelectorAll(".list-bar .exports a")].map((link) => ({ kind: "do", title: `Export this list as ${link.textContent}`, act: () => link.click() })),
    ];
    let shown = [], at = 0, asked = 0, waiting = 0;
    const mark = () => {
      [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === at)));
      list.children[at]?.scrollIntoView({ block: "nearest" });
      if (shown.length) field.setAttribute("aria-activedescendant", `palette-${at}`); else field.removeAttribute("aria-activedescendant");
    };
    const show = (found) => {
      shown = found;
      at = 0;
      list.replaceChildren(...found.map((one, place) => {
        const item = document.createElement("li"), kind = document.createElement("span"), name = document.createElement("span"), more = document.createElement("small");
        [item.id, item.role, kind.className, kind.textContent, name.textContent, more.textContent] = [`palette-${place}`, "option", "chip", one.kind, one.title, one.detail ?? ""];
        item.append(kind, name, more);
        item.addEventListener("click", () => { at = place; go(); });
        return item;
      }));
      mark();
    };
    const find = async () => {
      const words = field.value.trim(), mine = ++asked;
      const views = readViews().filter(({ name }) => name.toLowerCase().includes(words.toLowerCase())).map(({ name, address }) => ({ kind: "view", title: name, address }));
      const offered = own.filter((one) => one.title.toLowerCase().includes(words.toLowerCase()));
      try {
        const answer = await fetch(`/find?${new URLSearchParams({ q: words, export: "json" })}`);
        const found = answer.ok ? await answer.json() : [];
        if (mine === asked) show(words ? [...views, ...offered, ...found] : [...found, ...views, ...offered]);
      } catch { if (mine === asked) show([...views, ...offered]); }
    };
    const go = () => {
      const one = shown[at];
      if (!one) return;
      palette.close();
      if (one.act) one.act(); else location.assign(one.address);
    };
    const open = () => { if (palette.open) return; palette.showModal(); field.value = ""; find(); };
    opener.addEventListener("click", (event) => { event.preventDefault(); open(); });
    field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, 120); });
    palette.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); go(); });
    palette.addEventListener("click", (event) => { if (event.target === palette) palette.close(); });
    field.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !shown.length) return;
      event.preventDefault();
      at = (at + step + shown.length) % shown.length;
      mark();
    });
    addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") || (event.key === "/" && !typing)) { event.preventDefault(); open(); }
    });
  };
  addEventListener("DOMContentLoaded", () => {
    const theme = document.querySelector("[data-theme-switch]");
    const say = () => {
      theme.textContent = dark() ? "Light" : "Dark";
      theme.setAttribute("aria-label", `${theme.textContent} colours`);
    };
    say();
    theme.hidden = false;
    theme.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("assay-theme", root.dataset.theme); } catch { /* private windows keep nothing */ }
      say();
      dispatchEvent(new Event("assay-theme"));
    });
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
    listViews();
    offerView();
    showTimes();
    addTableExports();
    addChartExports();
    reachBoxes();
    addEventListener("resize", reachBoxes);
    const menu = document.querySelector(".menu"), nav = document.querySelector(".side nav");
    menu.hidden = false;
    menu.addEventListener("click", () => {
      const open = nav.classList.toggle("open");
      menu.setAttribute("aria-expanded", String(open));
    });
    openPalette(theme);
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
