// The table that stands beside each chart: the same numbers for those who cannot see it, made when it is opened.
(() => {
  const { data, state, units } = dxt;
  const MOST = 100;
  const table = (caption, head, rows) => {
    const element = document.createElement("table");
    element.createCaption().textContent = rows.length > MOST ? `${caption}, the first ${MOST} of ${units.count(rows.length)} rows` : caption;
    const cells = (kind, texts) => {
      const line = document.createElement("tr");
      texts.forEach((text, at) => {
        const cell = document.createElement(kind);
        if (kind === "th") cell.scope = "col";
        if (at > 0) cell.className = "number";
        cell.textContent = text;
        line.append(cell);
      });
      return line;
    };
    const top = document.createElement("thead");
    top.append(cells("th", head));
    const body = document.createElement("tbody");
    body.append(...rows.slice(0, MOST).map((row) => cells("td", row)));
    element.append(top, body);
    const frame = document.createElement("div");
    frame.className = "table";
    frame.append(element);
    return frame;
  };
  const visible = (heat) => [Math.max(0, Math.floor((state.from - heat.from) / heat.width)), Math.min(heat.bins, Math.ceil((state.until - heat.from) / heat.width))];
  const rowSums = (heat, names) => {
    const [first, end] = visible(heat);
    return names.map((name, row) => {
      const sums = { calls: 0, bytes: 0, busy: 0 };
      for (let bin = first; bin < end; bin++) for (const key of Object.keys(sums)) sums[key] += heat[key][row * heat.bins + bin];
      return { name, ...sums };
    }).filter((row) => row.calls || row.bytes || row.busy);
  };
  const makers = {
    map: () => {
      const rows = rowSums(dxt.mapHeat, dxt.mapGrid.rows.map((row) => row.label)).sort((a, b) => b.busy - a.busy);
      return table(`${dxt.views[state.rows]} over the time shown`, ["Row, most time first", "Calls", "Bytes", "Time in calls"], rows.map((row) => [row.name, units.count(row.calls), units.bytes(row.bytes), units.duration(row.busy)]));
    },
    series: () => {
      const { job } = data;
      const { read, write, metadata } = dxt.seriesSums;
      const first = Math.max(0, Math.floor((state.from - job.from_ns) / job.width_ns));
      const end = Math.min(job.bins, Math.ceil((state.until - job.from_ns) / job.width_ns));
      const step = Math.max(1, Math.ceil((end - first) / 40));
      const rows = [];
      for (let bin = first; bin < end; bin += step) {
        const sum = (of) => of.slice(bin, Math.min(bin + step, end)).reduce((total, value) => total + value, 0);
        const width = job.width_ns * (Math.min(bin + step, end) - bin);
        rows.push([units.moment(dxt.series.startOf(bin), job.width_ns), units.rate((sum(read.bytes) * 1e9) / width), units.rate((sum(write.bytes) * 1e9) / width),
          ((sum(read.busy) + sum(write.busy) + sum(metadata.busy)) / width).toFixed(2), units.count(sum(read.calls) + sum(write.calls) + sum(metadata.calls))]);
      }
      return table("The job over the time shown", ["From", "Read", "Written", "In flight", "Calls"], rows);
    },
    offsets: () => {
      const view = dxt.offsetView;
      const rows = rowSums(dxt.offsetHeat, Array.from({ length: view.rows }, (_, row) => units.bytes(row * view.row_bytes)));
      return table(`${units.last(view.file)} by offset, over the time shown`, ["From offset", "Calls", "Bytes", "Time in calls"], rows.map((row) => [row.name, units.count(row.calls), units.bytes(row.bytes), units.duration(row.busy)]));
    },
    boxes: () => table("Bandwidth of single calls", ["Operation", "Calls", "Lowest", "Q1", "Median", "Q3", "Highest", "Outliers"], dxt.boxGroups.map((group) => [
      `${units.layer(group.layer)} ${group.op} ${group.mode}${group.nested ? " in MPI-IO" : ""}`, units.count(group.sample), ...["min", "q1", "median", "q3", "max"].map((key) => units.rate(group[key])), units.count(group.outliers)])),
  };
  const fill = (details) => {
    if (!details.open) return;
    const frame = makers[details.dataset.of]();
    details.querySelector("div").replaceChildren(frame);
    dxt.sideways.watch(frame);
  };
  dxt.alternatives = {
    start() {
      const all = [...document.querySelectorAll("details.alternative[data-of]")];
      all.forEach((details) => details.addEventListener("toggle", () => fill(details)));
      dxt.changedAlternative = (of) => all.filter((details) => details.dataset.of === of).forEach(fill);
      dxt.on("view", () => all.forEach(fill));
      dxt.on("zoom", () => all.forEach(fill));
    },
  };
})();
