// Tables that sort by their headers and filter by text; the row that a chart points at is marked.
(() => {
  const FILTER_FROM = 8;
  const key = (row, at) => {
    const cell = row.cells[at];
    return cell?.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const sort = (table, at, header) => {
    const up = header.getAttribute("aria-sort") === "descending";
    const rows = [...table.tBodies[0].rows];
    const numbers = rows.some((row) => key(row, at) !== null);
    const text = (row) => row.cells[at]?.title || row.cells[at]?.textContent || "";
    rows.sort((a, b) => (numbers ? (key(a, at) ?? -Infinity) - (key(b, at) ?? -Infinity) : text(a).localeCompare(text(b), "en", { numeric: true })) * (up ? 1 : -1));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    table.tBodies[0].append(...rows);
  };
  const prepare = (table) => {
    [...table.tHead.rows[0].cells].forEach((header, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      button.title = "Sort";
      header.replaceChildren(button);
      if (table.tBodies[0].rows[0]?.cells[at]?.classList.contains("number")) header.classList.add("number");
      button.addEventListener("click", () => sort(table, at, header));
    });
    const frame = table.parentElement;
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", table.caption?.textContent ?? table.closest("section").querySelector("h2").textContent);
    if (table.tBodies[0].rows.length < FILTER_FROM || frame.classList.contains("findings")) return;
    const line = document.createElement("p");
    line.className = "filter";
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", "Filter rows");
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = ![row.textContent, ...[...row.cells].map((cell) => cell.title)].some((text) => text.toLowerCase().includes(wanted));
    });
    line.append(input);
    frame.before(line);
  };
  const reveal = (element) => {
    const own = element.querySelector(":scope > details.folded");
    if (own) own.open = true;
    for (let at = element.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  };
  dxt.showRow = (id) => {
    const row = document.getElementById(id);
    if (!row) return;
    document.querySelectorAll("tr.chosen").forEach((other) => other.classList.remove("chosen"));
    row.hidden = false;
    reveal(row);
    row.classList.add("chosen");
    row.tabIndex = -1;
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  };
  // A link to a folded part, or into one, opens it.
  const follow = (hash) => {
    const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (target) reveal(target);
    return target;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link) follow(link.hash);
  });
  addEventListener("hashchange", () => follow(location.hash)?.scrollIntoView());
  follow(location.hash);
  dxt.tables = { start: () => document.querySelectorAll("main section table").forEach(prepare) };
})();
