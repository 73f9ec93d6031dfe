// The box beside the pointer. Names are put in as text, never as HTML.
(() => {
  const tip = document.getElementById("tip");
  const cells = (rows) => {
    const table = document.createElement("table");
    rows.forEach((row, number) => {
      const line = table.insertRow();
      row.forEach((text) => {
        const cell = document.createElement(number === 0 ? "th" : "td");
        cell.textContent = text;
        line.append(cell);
      });
    });
    return table;
  };
  const fill = (element, title, pairs, rows = []) => {
    const head = document.createElement("b");
    head.textContent = title;
    element.replaceChildren(head);
    for (const [label, text] of pairs) {
      const line = document.createElement("span");
      const name = document.createElement("i");
      name.textContent = label;
      line.append(name, document.createTextNode(text));
      element.append(line);
    }
    // More than a heading.
    if (rows.length > 1) element.append(cells(rows));
    return element;
  };
  dxt.tip = {
    show(x, y, title, pairs, rows) {
      fill(tip, title, pairs, rows).hidden = false;
      const { width, height } = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, x + 16 + width > innerWidth ? x - width - 12 : x + 16)}px`;
      tip.style.top = `${Math.max(4, y + 16 + height > innerHeight ? y - height - 12 : y + 16)}px`;
    },
    hide: () => (tip.hidden = true),
    // The same for the plotting library's own box.
    element: (title, pairs, rows) => {
      const box = fill(document.createElement("div"), title, pairs, rows);
      box.className = "tip";
      return box;
    },
    style: () => ({ backgroundColor: dxt.theme.color("back"), borderColor: dxt.theme.color("line"), textStyle: { color: dxt.theme.color("text"), fontSize: 13 } }),
  };
})();
