"use strict";
/* The owner's rows: sorted, filtered, searched, selected and saved. Text from data only ever becomes text. */
(() => {
  const byId = (id) => document.getElementById(id);
  const { save, compare } = window.fedbaryTables;
  const data = JSON.parse(byId("row-data").textContent);
  const { columns, values, odd, pictures } = data;
  const total = values[0].length, mostPrinted = 1000, mostChoices = 200, cardsOnAPage = 20;
  const table = byId("rows"), around = table.parentElement, body = table.tBodies[0], headings = table.tHead.rows[0];
  const column = (name) => columns.findIndex((one) => one.name === name);
  const finding = column("finding"), rowName = values[0];
  const narrow = window.matchMedia("(max-width: 600px)");

  const chosen = new Set(), wanted = new Map();
  let order = [...Array(total).keys()], fitting = [], page = 0, only = null, printing = false;

  /* The whole value, for files, searching and sorting; what is missing is empty. */
  const full = (place, row) => {
    const value = values[place][row];
    return value === null ? "" : String(value);
  };
  /* The value as a reader wants to see it. */
  const shown = (place, row) => {
    const value = values[place][row];
    if (value === null || value === "") return "–";
    if (typeof value !== "number") return value;
    const size = Math.abs(value);
    const text = size >= 1e7 ? value.toExponential(2) : Number.isInteger(value) ? value.toLocaleString("en")
      : size >= 1 ? value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : value.toPrecision(3);
    return text.replaceAll("-", "−");
  };
  const searched = columns.flatMap((one, place) => one.shown && one.kind !== "bar" ? [place] : []);
  let texts = null;
  const found = (row, words) => {
    texts ??= order.slice().sort((a, b) => a - b)
      .map((one) => searched.map((place) => full(place, one) + " " + shown(place, one)).join("\n").toLowerCase());
    return texts[row].includes(words);
  };

  const create = (tag, content, look) => {
    const element = document.createElement(tag);
    if (look) element.className = look;
    if (content !== undefined) element.append(content);
    return element;
  };
  const isolated = (text) => create("bdi", text);
  const looks = {
    mark: (value) => value ? create("span", value, `tag ${value}`) : create("span", "–"),
    bar: (value) => {
      const bar = create("span", undefined, "bar");
      bar.setAttribute("role", "img");
      bar.setAttribute("aria-label", `${value} of 100`);
      bar.title = `${value} of 100`;
      bar.append(create("i"));
      bar.firstChild.style.width = `${value}%`;
      return bar;
    },
  };

  const line = (row) => {
    const tr = create("tr");
    tr.dataset.row = row;
    const box = create("input");
    box.type = "checkbox";
    box.checked = chosen.has(row);
    box.setAttribute("aria-label", "Select row " + rowName[row]);
    box.addEventListener("change", () => { box.checked ? chosen.add(row) : chosen.delete(row); counted(); });
    tr.append(create("td", box, "pick"));
    if (pictures.length) {
      const cell = create("td");
      if (pictures[row]) {
        const image = create("img", undefined, "thumbnail");
        image.alt = `row ${rowName[row]} as a picture`;
        image.src = "data:image/png;base64," + pictures[row];
        cell.append(image);
      }
      tr.append(cell);
    }
    columns.forEach((one, place) => {
      if (!one.shown) return;
      const cell = create(place ? "td" : "th", looks[one.kind]?.(values[place][row]) ?? isolated(shown(place, row)), one.look);
      if (!place) cell.scope = "row";
      cell.dataset.title = one.title;
      cell.dataset.at = place;
      if (odd[row].includes(place)) cell.classList.add("odd");
      if (typeof values[place][row] === "string" && values[place][row].length > 40) cell.title = values[place][row];
      tr.append(cell);
    });
    return tr;
  };

  /* Columns of the owner's file go, the last first, until the table fits the window: it is never cut off. */
  const fit = () => {
    const cells = (place) => table.querySelectorAll(`[data-column="${place}"], [data-at="${place}"]`);
    const features = columns.flatMap((one, place) => one.feature && one.shown ? [place] : []);
    features.forEach((place) => cells(place).forEach((cell) => { cell.hidden = false; }));
    let hidden = 0;
    while (!narrow.matches && !printing && hidden < features.length && around.scrollWidth > around.clientWidth) {
      hidden += 1;
      cells(features[features.length - hidden]).forEach((cell) => { cell.hidden = true; });
    }
    byId("columns-hidden").textContent = hidden ? `${hidden} column${hidden === 1 ? " does" : "s do"} not fit this window; saved files have all.` : "";
  };

  const counted = () => {
    const part = fitting.filter((row) => chosen.has(row)).length;
    all.checked = fitting.length > 0 && part === fitting.length;
    all.indeterminate = part > 0 && part < fitting.length;
    const saved = chosen.size || fitting.length;
    byId("row-count").textContent = `${fitting.length.toLocaleString("en")} of ${total.toLocaleString("en")} rows`
      + (only === null ? "" : fitting.length ? `: row ${only}` : `: row ${only} is not among them`) + (chosen.size ? `, ${chosen.size.toLocaleString("en")} selected` : "");
    byId("save-rows").textContent = `Save ${saved.toLocaleString("en")} ${chosen.size ? "selected " : ""}row${saved === 1 ? "" : "s"} as CSV`;
    byId("save-rows").disabled = !saved;
  };

  const draw = () => {
    const most = narrow.matches ? Math.min(cardsOnAPage, data.page) : data.page;
    const size = printing ? mostPrinted : most, pages = Math.max(1, Math.ceil(fitting.length / most));
    page = Math.min(page, pages - 1);
    const start = printing ? 0 : page * most;
    body.replaceChildren(...fitting.slice(start, start + size).map(line));
    byId("row-pages").hidden = pages === 1;
    byId("page-now").textContent = `Page ${page + 1} of ${pages.toLocaleString("en")}`;
    byId("page-before").disabled = page === 0;
    byId("page-after").disabled = page === pages - 1;
    fit();
  };

  const apply = () => {
    const words = byId("find-row").value.trim().toLowerCase();
    const show = byId("show-rows")?.value ?? "all";
    fitting = order.filter((row) => only !== null ? rowName[row] === only
      : (show === "all" || values[finding][row] === show || (show === "found" && values[finding][row] !== ""))
        && [...wanted].every(([place, text]) => full(place, row) === text)
        && (!words || found(row, words)));
    page = 0;
    byId("show-all-rows").hidden = only === null;
    draw();
    counted();
  };

  const sort = (place, down) => {
    const keys = rowName.map((_, row) => full(place, row));
    const missing = (row) => Number(keys[row] === "");
    order = [...Array(total).keys()].sort((a, b) => missing(a) || missing(b) ? missing(a) - missing(b)
      : (down ? -1 : 1) * compare(keys[a], keys[b]));
  };

  /* Headings that sort, and a box that selects everything that fits. */
  table.classList.add("sortable");
  const sortable = [...headings.cells].filter((cell) => cell.dataset.column !== undefined);
  for (const head of sortable) {
    const button = create("button", isolated(head.textContent));
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(head, head.getAttribute("aria-sort") === "ascending"));
  }
  const sortBy = (head, down) => {
    sortable.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    sort(Number(head.dataset.column), down);
    apply();
  };
  /* Where every row is a card, there are no headings to click on. */
  byId("sort-rows").append(...sortable.map((head) => new Option(head.textContent)));
  byId("sort-rows").addEventListener("change", (event) => {
    const head = sortable[event.target.selectedIndex];
    sortBy(head, columns[head.dataset.column].kind === "bar");
  });
  const all = create("input");
  all.type = "checkbox";
  all.setAttribute("aria-label", "Select all rows that fit the filters");
  all.addEventListener("change", () => {
    fitting.forEach((row) => all.checked ? chosen.add(row) : chosen.delete(row));
    draw();
    counted();
  });
  const corner = create("th", all, "pick");
  corner.scope = "col";
  headings.prepend(corner);

  /* A choice for every reason and label; where there are too many, the search finds them. */
  for (const label of document.querySelectorAll("#row-tools [data-filter]")) {
    const place = column(label.dataset.filter), select = label.querySelector("select");
    const choices = [...new Set(values[place])].filter((text) => text !== "").sort(compare);
    label.hidden = choices.length < 2 || choices.length > mostChoices;
    select.append(create("option", "any"), ...choices.map((text) => create("option", text)));
    select.addEventListener("change", () => {
      select.selectedIndex ? wanted.set(place, choices[select.selectedIndex - 1]) : wanted.delete(place);
      apply();
    });
  }
  byId("find-row").addEventListener("input", apply);
  byId("show-rows")?.addEventListener("change", apply);
  byId("page-before").addEventListener("click", () => { page -= 1; draw(); });
  byId("page-after").addEventListener("click", () => { page += 1; draw(); });
  byId("save-rows").addEventListener("click", () => {
    const rows = chosen.size ? order.filter((row) => chosen.has(row)) : fitting;
    save(data.file, [columns.map((one) => one.name), ...rows.map((row) => columns.map((_, place) => full(place, row)))]);
  });
  byId("show-all-rows").addEventListener("click", () => { only = null; apply(); });
  window.addEventListener("resize", fit);
  narrow.addEventListener("change", draw);
  window.addEventListener("beforeprint", () => { printing = true; draw(); });
  window.addEventListener("afterprint", () => { printing = false; draw(); });

  /* A click on a point shows its row. */
  const follow = () => {
    if (document.documentElement.dataset.charts !== "drawn") return;
    watch.disconnect();
    for (const chart of document.querySelectorAll('[data-chart="row-map"], [data-chart="label-pairs"]')) {
      chart.on("plotly_click", (event) => {
        const row = event.points[0]?.customdata?.[2];
        if (typeof row !== "string" || !row) return;
        only = row;
        apply();
        byId("table-of-rows").scrollIntoView();
      });
    }
  };
  const watch = new MutationObserver(follow);
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-charts"] });

  byId("row-tools").hidden = false;
  apply();
})();
