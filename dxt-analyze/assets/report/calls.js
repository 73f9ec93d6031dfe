// Single calls, where those in view are few enough to be a bar each.
(() => {
  const { data, state } = dxt;
  const FEW = 6000;
  const heights = { HDF5: 0.92, PNETCDF: 0.92, MPIIO: 0.74, DFS: 0.62, STDIO: 0.56, POSIX: 0.5, DAOS: 0.5 };
  const embedded = () => data.ranks;
  const axisRow = (process) => (process - embedded().first) / embedded().per_row;
  const height = (calls, i) => {
    const slice = data.slices[calls.slice[i]];
    return slice ? heights[slice.layer] ?? 0.5 : 0.5;
  };

  // Numbers of the calls in view that pass the filters, the outer ones first, so that what was called inside lies above; `null` if
  // they are too many.
  const choose = () => {
    const calls = dxt.tileInView()?.calls ?? data.calls;
    dxt.calls = calls;
    if (!calls || state.rows !== "ranks") return null;
    const keep = dxt.keep("calls");
    const passes = data.slices.map((_, number) => (state.layer || state.kind || state.file !== "" ? keep(number) : true));
    const bottom = state.bottom ?? embedded().rows.length;
    const list = [];
    for (let i = 0; i < calls.start_ns.length; i++) {
      if (calls.start_ns[i] > state.until || calls.start_ns[i] + calls.duration_ns[i] < state.from) continue;
      const row = axisRow(calls.process[i]);
      if (row + 1 < state.top || row > bottom || !passes[calls.slice[i]]) continue;
      if (list.push(i) > FEW) return null;
    }
    return list.sort((a, b) => height(calls, b) - height(calls, a));
  };

  const draw = (shown, view, width, tall) => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width));
    canvas.height = Math.max(1, Math.round(tall));
    const context = canvas.getContext("2d");
    const { calls } = dxt;
    const x = (time) => ((time - view.from) / (view.until - view.from)) * canvas.width;
    const y = (row) => ((row - view.top) / (view.bottom - view.top)) * canvas.height;
    const rowHeight = 1 / embedded().per_row;
    context.lineWidth = 1;
    context.strokeStyle = dxt.theme.color("back");
    for (const i of shown) {
      const high = height(calls, i) * rowHeight;
      const top = y(axisRow(calls.process[i]) + (rowHeight - high) / 2);
      const left = x(calls.start_ns[i]);
      const long = Math.max(1.5, x(calls.start_ns[i] + calls.duration_ns[i]) - left);
      const down = Math.max(1.5, y(high) - y(0));
      context.fillStyle = dxt.theme.kinds[data.slices[calls.slice[i]].kind];
      context.globalAlpha = height(calls, i) > heights.STDIO ? 0.45 : 1;
      context.fillRect(left, top, long, down);
      context.globalAlpha = 1;
      if (long > 12 && down > 6) context.strokeRect(left + 0.5, top + 0.5, long - 1, down - 1);
    }
    dxt.hatch(canvas, embedded().unseen, view);
    return canvas;
  };

  // The call at a moment and row, the inner one of several.
  const at = (shown, time, row, slack) => {
    let best = null;
    for (const i of shown) {
      const start = dxt.calls.start_ns[i];
      if (time < start - slack || time > start + dxt.calls.duration_ns[i] + slack) continue;
      const top = axisRow(dxt.calls.process[i]);
      if (row >= top && row < top + 1 / embedded().per_row) best = i;
    }
    return best;
  };
  dxt.singleCalls = { choose, draw, at, height };
})();
