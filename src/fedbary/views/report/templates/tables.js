"use strict";
/* Sorting, searching, filtering and saving of tables whose rows the page already holds. */
(() => {
  /* Text that a spreadsheet would run as a formula is quoted, as in every file that fedbary writes. */
  const harmless = /^[+-](\d+(\.\d*)?([eE][+-]?\d+)?)?$/;
  const cell = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) && !harmless.test(text) ? "'" + text : text;
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
  window.fedbaryTables = { save, compare };

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      if (!head.dataset.key) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[place].dataset.sort ?? row.cells[place].textContent.trim();
        const missing = (row) => key(row) === "";
        const rows = [...body.rows].sort((a, b) =>
          missing(a) || missing(b) ? missing(a) - missing(b) : (down ? -1 : 1) * compare(key(a), key(b)));
        body.append(...rows);
      });
    });

    const tools = document.querySelector(`.tools[data-for="${table.id}"]`);
    if (!tools) continue;
    tools.hidden = false;
    const search = tools.querySelector("[data-search]"), filter = tools.querySelector("[data-filter]");
    const count = tools.querySelector("[data-count]");
    const apply = () => {
      const wanted = search.value.trim().toLowerCase(), kind = filter.value;
      let shown = 0;
      for (const row of body.rows) {
        const fits = (!kind || row.dataset[filter.dataset.filter] === kind)
          && row.textContent.toLowerCase().includes(wanted);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = `${shown} of ${body.rows.length} shown`;
    };
    search.addEventListener("input", apply);
    filter.addEventListener("change", apply);
    tools.querySelector("[data-export]").addEventListener("click", (event) => {
      /* Numbers with every digit and names to the letter; what a reader sees is rounded and wrapped. */
      const text = (one) => one.dataset.sort ?? (one.querySelector(".name") ?? one).textContent.trim();
      const rows = [...body.rows].filter((row) => !row.hidden);
      save(event.target.dataset.export, [heads.map(text), ...rows.map((row) => [...row.cells].map(text))]);
    });
    apply();
  }
})();
