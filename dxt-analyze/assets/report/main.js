// Starts everything: the controls, then the charts.
(() => {
  const { data, state } = dxt;
  const find = (id) => document.getElementById(id);
  document.documentElement.classList.add("scripts");
  dxt.tables.start();
  dxt.sideways.start();
  const drawn = document.querySelectorAll(".charts");
  drawn.forEach((part) => (part.hidden = false));
  if (data.job.lines.length === 0) {
    drawn.forEach((part) => part.remove());
    document.querySelectorAll(".scripted").forEach((item) => item.remove());
    dxt.loadedMs = performance.now();
    return;
  }

  // Bytes over time without calls, as a log of counters has them.
  const hasCalls = data.segments > 0;
  if (!hasCalls) {
    state.measure = "bytes";
    find("measure").value = "bytes";
    for (const id of ["places", "spread"]) {
      find(id).remove();
      document.querySelector(`nav a[href="#${id}"]`).parentElement.remove();
    }
  }

  const unique = (of) => [...new Set(data.slices.map(of))];
  const layers = unique((slice) => slice.layer).sort();
  find("layer").replaceChildren(new Option("calls made by the program itself", ""), ...layers.map((layer) => new Option(`all ${dxt.units.layer(layer)} calls`, layer)));
  const files = unique((slice) => slice.file);
  const named = files.filter((file) => file !== null);
  const short = dxt.units.shortNames(named);
  find("file").replaceChildren(new Option("all", ""), ...named.map((file, at) => dxt.fileOption(file, short[at], file)), ...(files.includes(null) ? [new Option("other files", "others")] : []));

  for (const id of ["measure", "kind", "layer", "file"]) {
    find(id).addEventListener("change", () => {
      state[id] = find(id).value;
      dxt.changed("view");
    });
  }
  const views = [...document.querySelectorAll("[data-view]")];
  const show = (name) => {
    state.rows = name;
    state.top = 0;
    state.bottom = null;
    views.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === name)));
    // What reaches storage is one layer.
    find("layer").disabled = name === "targets";
    dxt.changed("view");
    dxt.changed("zoom");
  };
  views.forEach((button) => {
    button.addEventListener("click", () => show(button.dataset.view));
    const rows = data[button.dataset.view].rows.length;
    if (rows === 0) {
      button.disabled = true;
      button.title = "No file has a layout that names storage targets";
    }
  });

  dxt.map.start();
  dxt.series.start();
  if (hasCalls) {
    dxt.offsets.start();
    dxt.boxes.start();
  }
  dxt.zoom.start();
  dxt.alternatives.start();
  dxt.theme.onChange(() => dxt.changed("view"));
  const charts = () => ["map", "series", "offsets", "boxes"].map((name) => dxt[name].chart).filter(Boolean);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    charts().forEach((chart) => chart.resize());
    dxt.changed("view");
  });
  dxt.print.start(charts);
  dxt.loadedMs = performance.now();
})();
