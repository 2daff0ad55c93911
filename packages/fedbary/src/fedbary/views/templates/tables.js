"use strict";
/* Sorting, searching, filtering and saving of tables whose rows the page already holds; for the coordinator's report. */
(() => {
  /* What a spreadsheet would run is quoted by whatever separator it reads, as `quoted` of fedbary.data.export does. */
  const number = /^ *[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?)? *$/;
  const formula = /^[\p{C}\p{Z}"]*[=+@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b-]/u;
  const quoted = (text) => {
    const parts = text.split(/([,;|\t\r\n])/);
    if (!/^[,;|\t\r\n]/.test(text) && parts.every((part, place) => place % 2 || number.test(part))) return text;
    return (/^[\t\r\n]/.test(text) ? "'" : "") + parts.map((part) => (formula.test(part) ? "'" + part : part)).join("");
  };
  const cell = (text) => {
    const safe = quoted(text);
    return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const csv = (lines) => "\ufeff" + lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  const save = (name, lines) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(lines)], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  /* Numbers by size, text by its letters, what is missing last. */
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  };
  window.fedbaryTables = { save, compare, quoted };

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const sort = (place, down) => {
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      heads[place].setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[place].dataset.sort ?? row.cells[place].textContent.trim();
      const missing = (row) => key(row) === "";
      const rows = [...body.rows].sort((a, b) =>
        missing(a) || missing(b) ? missing(a) - missing(b) : (down ? -1 : 1) * compare(key(a), key(b)));
      body.append(...rows);
    };
    heads.forEach((head, place) => {
      if (!head.dataset.key) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => { sort(place, head.getAttribute("aria-sort") === "ascending"); apply(); });
    });

    const tools = document.querySelector(`.tools[data-for="${table.id}"]`);
    tools.hidden = false;
    /* Where every row is a card, there are no headings to click on. */
    const sorted = tools.querySelector("[data-sorted]");
    sorted.append(...heads.map((head) => new Option(head.textContent)));
    sorted.addEventListener("change", () => { sort(sorted.selectedIndex, false); apply(); });
    /* Of very many rows the first, until somebody asks for all or looks for one. */
    const most = Number(table.dataset.shown), all = document.querySelector(`[data-all="${table.id}"]`);
    let whole = body.rows.length <= most;
    all.addEventListener("click", () => { whole = true; apply(); });
    let printing = false;
    window.addEventListener("beforeprint", () => { printing = true; apply(); });
    window.addEventListener("afterprint", () => { printing = false; apply(); });
    const search = tools.querySelector("[data-search]"), filter = tools.querySelector("[data-filter]");
    const count = tools.querySelector("[data-count]");
    const apply = () => {
      const wanted = search?.value.trim().toLowerCase() ?? "", kind = filter?.value;
      let shown = 0;
      for (const row of body.rows) {
        row.fits = (!kind || row.dataset[filter.dataset.filter] === kind) && row.textContent.toLowerCase().includes(wanted);
        shown += row.fits;
        row.hidden = !row.fits || (!whole && !printing && !kind && !wanted && shown > most);
      }
      all.hidden = whole || Boolean(kind || wanted);
      count.textContent = `${all.hidden ? shown : most} of ${body.rows.length} shown`;
    };
    search?.addEventListener("input", apply);
    filter?.addEventListener("change", apply);
    tools.querySelector("[data-export]").addEventListener("click", (event) => {
      /* Numbers with every digit and names to the letter; what a reader sees is rounded and wrapped. */
      const text = (one) => one.dataset.sort ?? (one.querySelector(".name") ?? one).textContent.trim();
      const rows = [...body.rows].filter((row) => row.fits);
      save(event.target.dataset.export, [heads.map(text), ...rows.map((row) => [...row.cells].map(text))]);
    });
    apply();
  }
})();
