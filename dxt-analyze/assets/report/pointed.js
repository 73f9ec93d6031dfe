// What lies under the pointer, in numbers that add up: parts are rounded so that what is shown of them is what is shown of the whole.
(() => {
  const { data, units } = dxt;
  // Time, bytes and calls of a cell, in all and by kind.
  const table = (heat, cell) => {
    const kinds = heat.shown;
    const row = (name, key, show) => {
      const parts = kinds.map((kind) => heat.kinds[kind][key][cell]);
      return parts.some((part) => part > 0) ? [[name, ...units.adding(parts, show)]] : [];
    };
    return [["", ...kinds.map((kind) => ({ read: "reads", write: "writes", metadata: "metadata" })[kind]), "all"],
      ...row("time", "busy", units.duration), ...row("bytes", "bytes", units.bytes), ...row("calls", "calls", units.count)];
  };
  const span = (heat, bin) => {
    const start = heat.from + bin * heat.width;
    return `${units.moment(start, heat.width)} to ${units.moment(start + heat.width, heat.width)}`;
  };
  // What is said of a place without calls on record.
  const unseen = (heat, row, time, members) => {
    const found = heat.unseen.find((one) => one.row === row && time >= one.from_ns && time < one.until_ns);
    if (!found) return [];
    return [["no data", members > 1 ? `${units.count(found.processes)} of ${units.count(members)} processes have no single calls recorded here` : "no single calls were recorded here"]];
  };
  dxt.pointed = {
    // A cell of a heatmap: `of` is its row.
    cell(x, y, heat, row, time, of, isFile = false) {
      const bin = Math.floor((time - heat.from) / heat.width);
      if (bin < 0 || bin >= heat.bins) return dxt.tip.hide();
      const cell = row * heat.bins + bin;
      const members = of.members || 1;
      const pairs = [["time", span(heat, bin)]];
      if (isFile && of.label.includes("/")) pairs.push(["path", of.label]);
      if (heat.busy[cell] > 0) pairs.push(["in calls", `${units.percent(heat.busy[cell] / heat.width / members)}${members > 1 ? ` of ${units.count(members)} processes` : ""}`]);
      if (heat.bytes[cell] > 0) pairs.push(["bandwidth", units.rate((heat.bytes[cell] * 1e9) / heat.width)]);
      if (heat.bytes[cell] > 0 && heat.calls[cell] === 0 && heat.busy[cell] === 0) pairs.push(["bytes are", "from Darshan's heat map"]);
      else pairs.push(...unseen(heat, row, time, members));
      return dxt.tip.show(x, y, isFile ? units.last(of.label) : of.label, pairs, table(heat, cell));
    },
    // A single call.
    call(x, y, i) {
      const { calls } = dxt;
      const name = calls.names.find(([process]) => process === calls.process[i])?.[1] ?? "";
      const duration = calls.duration_ns[i];
      const file = calls.files[calls.file[i]];
      return dxt.tip.show(x, y, `${name}: ${units.layer(calls.ops[calls.op[i]])}`, [
        ["file", units.last(file)],
        ...(units.last(file) === file ? [] : [["path", file]]),
        ["offset", calls.offset[i] < 0 ? "none" : units.count(calls.offset[i])],
        ["length", `${units.count(calls.length[i])} B`],
        ["start", units.moment(calls.start_ns[i], 1000)],
        ["end", units.moment(calls.start_ns[i] + duration, 1000)],
        ["took", units.duration(duration)],
        ...(calls.length[i] > 0 && duration > 0 && data.slices[calls.slice[i]].kind !== "metadata" ? [["bandwidth", units.rate((calls.length[i] * 1e9) / duration)]] : []),
      ]);
    },
  };
})();
