// The data that came with the page, and how cells are summed up over the slices that a filter lets through.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  dxt.data = data;

  dxt.kinds = ["read", "write", "metadata"];
  // The cells of a grid: calls, bytes and ns by row and bin, of the slices for which `keep` is true; in all and by kind.
  dxt.sum = (grid, keep, kindOf = (slice) => data.slices[slice].kind) => {
    const rows = Array.isArray(grid.rows) ? grid.rows.length : grid.rows;
    const size = rows * grid.bins;
    const cells = () => ({ calls: new Float64Array(size), bytes: new Float64Array(size), busy: new Float64Array(size) });
    const out = { rows, bins: grid.bins, from: grid.from_ns, width: grid.width_ns, unseen: grid.unseen ?? [], kinds: {}, ...cells() };
    for (const line of grid.lines) {
      if (!keep(line.slice)) continue;
      const part = (out.kinds[kindOf(line.slice)] ??= cells());
      let at = line.row * grid.bins;
      for (let i = 0; i < line.cells.length; i += 4) {
        at += line.cells[i];
        for (const to of [out, part]) {
          to.calls[at] += line.cells[i + 1];
          to.bytes[at] += line.cells[i + 2];
          to.busy[at] += line.cells[i + 3];
        }
      }
    }
    return out;
  };

  // What a measure makes of a cell: its value, how it is written, and what it is called.
  dxt.measures = {
    busy: { name: "time in calls", key: "busy", of: (sum, at, members) => sum.busy[at] / sum.width / members, show: dxt.units.percent, least: 1 },
    bytes: { name: "bandwidth", key: "bytes", of: (sum, at) => (sum.bytes[at] * 1e9) / sum.width, show: dxt.units.rate },
    calls: { name: "calls per second", key: "calls", of: (sum, at) => (sum.calls[at] * 1e9) / sum.width, show: dxt.units.perSecond },
  };
})();
