"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);

  // Light or dark: the system's choice until the button is pressed.
  const root = document.documentElement, button = one("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();

  // A chart's marks: one tooltip for the pointer and the keyboard. Arrows go from mark to mark, Home and End to the ends.
  const tip = one("tooltip");
  const show = (hit) => {
    tip.textContent = hit.getAttribute("aria-label");
    tip.hidden = false;
    const at = hit.getBoundingClientRect(), own = tip.getBoundingClientRect(), edge = root.clientWidth - own.width - 4;
    const left = Math.max(4, Math.min(at.left + at.width / 2 - own.width / 2, edge));
    const above = at.top - own.height - 6;
    tip.style.left = left + "px";
    tip.style.top = (above > 4 ? above : at.bottom + 6) + "px";
  };
  const hide = () => { tip.hidden = true; };
  for (const chart of all("svg.chart")) {
    // Chromium gives the focus to SVG elements that listen to it, hence the element around them.
    const hits = all(".hit", chart), area = chart.parentElement;
    for (const hit of hits) {
      const title = hit.querySelector("title");
      hit.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    // In reading order, whatever the order of drawing.
    const place = (hit) => [Number(hit.getAttribute("x")), Number(hit.getAttribute("y"))];
    const order = hits.slice().sort((a, b) => { const p = place(a), q = place(b); return p[0] - q[0] || p[1] - q[1]; });
    const stop = (next) => { for (const hit of hits) hit.setAttribute("tabindex", hit === next ? "0" : "-1"); };
    const go = (to) => {
      const next = order[Math.max(0, Math.min(to, order.length - 1))];
      stop(next);
      next.focus();
    };
    stop(order[0]);
    // Where the pointer tells nothing, the mark with the focus does.
    const rest = () => { if (hits.includes(document.activeElement)) show(document.activeElement); else hide(); };
    area.addEventListener("pointerover", (event) => { const hit = event.target.closest(".hit"); if (hit) show(hit); else rest(); });
    area.addEventListener("pointerleave", rest);
    area.addEventListener("focusin", (event) => { if (event.target.matches(".hit")) show(event.target); });
    area.addEventListener("focusout", hide);
    area.addEventListener("keydown", (event) => {
      const at = order.indexOf(document.activeElement);
      if (at < 0) return;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: order.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    });
  }
  addEventListener("scroll", () => { if (tip.hidden) return; if (document.activeElement.matches(".hit")) show(document.activeElement); else hide(); }, { passive: true });

  // A link to a layer opens it.
  const open = () => { const layer = location.hash && one(location.hash.slice(1)); if (layer && layer.matches("details")) { layer.open = true; layer.scrollIntoView(); } };
  addEventListener("hashchange", open);
  open();

  // The table: a filter of words, selections, and columns that sort.
  const table = one("table"), body = table.tBodies[0], rows = [...body.rows];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const filter = () => {
    const words = one("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const algorithm = one("algorithm").value, status = one("status").value;
    let shown = 0;
    for (const row of rows) {
      const fits = (!algorithm || row.dataset.a === algorithm) && (!status || row.dataset.s === status) && words.every((word) => texts.get(row).includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    one("shown").textContent = shown + " of " + rows.length + " rows";
  };
  one("filters").hidden = false;
  one("filters").addEventListener("submit", (event) => event.preventDefault());
  one("filters").addEventListener("input", filter);
  filter();
  const collator = new Intl.Collator("en", { numeric: true });
  const heads = all("th", table.tHead);
  heads.forEach((head, column) => {
    const numbers = head.classList.contains("n");
    const press = document.createElement("button");
    press.type = "button";
    press.textContent = head.textContent;
    head.textContent = "";
    head.append(press);
    press.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      // What was not measured comes last either way.
      const missing = (cell) => (numbers ? cell.dataset.v === undefined : cell.textContent === "");
      const compare = (a, b) => {
        const x = a.cells[column], y = b.cells[column];
        if (missing(x) || missing(y)) return missing(x) - missing(y);
        const order = numbers ? Number(x.dataset.v) - Number(y.dataset.v) : collator.compare(x.textContent, y.textContent);
        return down ? -order : order;
      };
      body.append(...rows.sort(compare));
    });
  });
})();
