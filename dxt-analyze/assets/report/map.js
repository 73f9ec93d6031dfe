// The timeline: rows (ranks, nodes, OSTs, files) by time, as a heatmap, or call by call where they are few.
(() => {
  const { data, state, whole, units } = dxt;
  const place = document.getElementById("map");
  const FEW = 6000;
  const heights = { HDF5: 0.92, PNETCDF: 0.92, MPIIO: 0.74, STDIO: 0.56, POSIX: 0.5 };
  const names = { ranks: "rank", nodes: "node", targets: "OST", files: "file" };
  let chart = null;
  let heat = null;
  let grid = null;
  let shown = null; // indices of the calls that are drawn, or null

  const embedded = () => data[state.rows];
  // A row of the axis, which is the embedded grid's, as a row of the grid in use; they differ where a tile is finer.
  const own = (row) => (embedded().first + row * embedded().per_row - grid.first) / grid.per_row;
  const axisRow = (process) => (process - embedded().first) / embedded().per_row;

  const refresh = () => {
    const tile = dxt.tileInView();
    grid = tile?.grid ?? embedded();
    const measure = dxt.measures[state.measure];
    const sum = dxt.sum(grid, dxt.keep(state.rows));
    heat = dxt.heat(sum, (at) => measure.of(sum, at, grid.rows[Math.floor(at / sum.bins)].members || 1), measure.top);
    dxt.mapHeat = heat;
    dxt.mapGrid = grid;
    choose();
  };

  // The calls in view that pass the filters, if they are few enough.
  const choose = () => {
    const calls = dxt.tileInView()?.calls ?? data.calls;
    shown = null;
    dxt.calls = calls;
    if (!calls || state.rows !== "ranks") return;
    const keep = dxt.keep("calls");
    const passes = data.slices.map((_, number) => (state.layer || state.kind || state.file !== "" ? keep(number) : true));
    const bottom = state.bottom ?? embedded().rows.length;
    const list = [];
    for (let i = 0; i < calls.start_ns.length; i++) {
      if (calls.start_ns[i] > state.until || calls.start_ns[i] + calls.duration_ns[i] < state.from) continue;
      const row = axisRow(calls.process[i]);
      if (row + 1 < state.top || row > bottom || !passes[calls.slice[i]]) continue;
      if (list.push(i) > FEW) return;
    }
    // The outer ones first, so that what was called inside lies above.
    list.sort((a, b) => height(calls, b) - height(calls, a));
    shown = list;
  };
  const height = (calls, i) => {
    const slice = data.slices[calls.slice[i]];
    return slice ? heights[slice.layer] ?? 0.5 : 0.5;
  };

  const bars = (canvas, view) => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    const calls = dxt.calls;
    const x = (time) => ((time - view.from) / (view.until - view.from)) * canvas.width;
    const y = (row) => ((row - view.top) / (view.bottom - view.top)) * canvas.height;
    const rowHeight = 1 / embedded().per_row;
    context.lineWidth = 1;
    context.strokeStyle = dxt.theme.color("back");
    for (const i of shown) {
      const tall = height(calls, i) * rowHeight;
      const top = y(axisRow(calls.process[i]) + (rowHeight - tall) / 2);
      const left = x(calls.start_ns[i]);
      const width = Math.max(1.5, x(calls.start_ns[i] + calls.duration_ns[i]) - left);
      const down = Math.max(1.5, y(tall) - y(0));
      context.fillStyle = dxt.theme.kinds[data.slices[calls.slice[i]].kind];
      context.globalAlpha = height(calls, i) > heights.STDIO ? 0.45 : 1;
      context.fillRect(left, top, width, down);
      context.globalAlpha = 1;
      if (width > 12 && down > 6) context.strokeRect(left + 0.5, top + 0.5, width - 1, down - 1);
    }
  };

  const draw = (params, api) => {
    const { x, y, width, height: tall } = params.coordSys;
    const rows = embedded().rows.length;
    const [left, top] = api.coord([whole.from, 0]);
    const [right, bottom] = api.coord([whole.until, rows]);
    const time = (px) => whole.from + ((px - left) / (right - left)) * (whole.until - whole.from);
    const row = (px) => ((px - top) / (bottom - top)) * rows;
    const view = { from: time(x), until: time(x + width), top: row(y), bottom: row(y + tall) };
    const ratio = devicePixelRatio || 1;
    let canvas;
    if (shown) {
      canvas = document.createElement("canvas");
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(tall * ratio));
      bars(canvas, view);
    } else {
      canvas = dxt.paint(heat, { ...view, top: own(view.top), bottom: own(view.bottom) }, width * ratio, tall * ratio);
    }
    return { type: "image", style: { image: canvas, x, y, width, height: tall }, silent: true };
  };

  const short = (text) => (text.length > 15 ? `…${text.slice(-14)}` : text);
  const label = (value) => short(grid.rows[Math.floor(own(value))]?.label ?? "");
  // Where rows are named: in their middle, as many as have room.
  const labels = () => {
    const middle = (row) => (grid.first + (row + 0.5) * grid.per_row - embedded().first) / embedded().per_row;
    const inView = grid.rows.map((_, row) => middle(row)).filter((at) => at >= state.top && at <= (state.bottom ?? embedded().rows.length));
    const room = Math.max(1, Math.floor((place.clientHeight - 90) / 17));
    const step = Math.max(1, Math.ceil(inView.length / room));
    return inView.filter((_, at) => at % step === 0);
  };

  dxt.timeAxis = (extra = {}) => ({
    type: "value", min: whole.from, max: whole.until, splitLine: { show: false },
    axisLine: { show: true, onZero: false, lineStyle: { color: dxt.theme.color("soft") } },
    axisLabel: { color: dxt.theme.color("soft"), hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value) => units.moment(value, (state.until - state.from) / 8) },
    name: "time since the job's start", nameLocation: "middle", nameGap: 24, nameTextStyle: { color: dxt.theme.color("soft") }, ...extra,
  });
  dxt.timeZoom = (extra = {}) => ({
    type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, minValueSpan: 10,
    startValue: state.from, endValue: state.until, ...extra,
  });

  const option = () => {
    const rows = embedded().rows.length;
    const soft = dxt.theme.color("soft");
    const ticks = labels();
    return {
      animation: false,
      aria: { enabled: false },
      grid: { left: 112, right: 18, top: 8, bottom: 82 },
      xAxis: dxt.timeAxis(),
      yAxis: { type: "value", min: 0, max: Math.max(rows, 1), inverse: true, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: soft } },
        axisTick: { show: false }, axisLabel: { color: soft, customValues: ticks, formatter: label, hideOverlap: true } },
      dataZoom: [
        dxt.timeZoom(),
        { type: "inside", yAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "shift", moveOnMouseMove: true, minValueSpan: 0.5,
          startValue: state.top, endValue: state.bottom ?? Math.max(rows, 1) },
        { type: "slider", xAxisIndex: 0, filterMode: "none", bottom: 8, height: 20, brushSelect: false, showDetail: false, minValueSpan: 10,
          startValue: state.from, endValue: state.until, borderColor: dxt.theme.color("line"), fillerColor: "rgba(120,140,170,.25)" },
      ],
      series: [{ type: "custom", renderItem: draw, data: [[whole.from, 0]], clip: true, silent: true, encode: { x: 0, y: 1 } }],
    };
  };

  const describe = () => {
    const rows = embedded().rows.length;
    const per = grid.per_row > 1 ? `, ${grid.per_row} to a row` : "";
    const total = embedded().units;
    const what = names[state.rows] + (total === 1 ? "" : "s");
    const span = `${units.moment(state.from, (state.until - state.from) / 100)} to ${units.moment(state.until, (state.until - state.from) / 100)}`;
    const filter = dxt.filterWords();
    const how = shown ? `${units.count(shown.length)} single calls` : `${dxt.measures[state.measure].name}, bins of ${units.duration(grid.width_ns)}`;
    const text = rows === 0 ? (state.rows === "targets" ? "No file has a layout that names storage targets: give one with --layout." : "Nothing to show.")
      : `${span} · ${units.count(total)} ${what}${per} · ${how}${filter ? ` · only ${filter}` : ""}${dxt.tileInView() ? " · from the server" : ""}`;
    document.getElementById("status").textContent = text;
    place.setAttribute("aria-label", `Timeline: ${text}`);
  };

  const legend = () => {
    const element = document.getElementById("map-legend");
    if (!shown) {
      const measure = dxt.measures[state.measure];
      const shared = state.measure === "busy" && state.rows !== "files" ? ` per ${names[state.rows] === "node" ? "process" : names[state.rows]}` : "";
      return dxt.scaleLegend(element, heat, measure.show, measure.name + shared);
    }
    element.replaceChildren(...Object.entries(dxt.theme.kinds).map(([kind, color]) => {
      const key = document.createElement("span");
      key.className = "key";
      const mark = document.createElement("i");
      mark.style.background = color;
      key.append(mark, document.createTextNode(kind));
      return key;
    }), document.createTextNode("Pale and tall: calls of MPI-IO and HDF5. On them, full: the system calls that they made."));
  };

  const callAt = (time, row) => {
    const slack = ((state.until - state.from) / place.clientWidth) * 2;
    let best = null;
    for (const i of shown) {
      const start = dxt.calls.start_ns[i];
      if (time < start - slack || time > start + dxt.calls.duration_ns[i] + slack) continue;
      const at = axisRow(dxt.calls.process[i]);
      if (row >= at && row < at + 1 / embedded().per_row) best = i;
    }
    return best;
  };
  const hover = (event) => {
    const at = chart.convertFromPixel({ seriesIndex: 0 }, [event.offsetX, event.offsetY]);
    if (!at || !chart.containPixel({ seriesIndex: 0 }, [event.offsetX, event.offsetY])) return dxt.tip.hide();
    const box = place.getBoundingClientRect();
    const [x, y] = [box.left + event.offsetX, box.top + event.offsetY];
    if (shown) {
      const i = callAt(at[0], at[1]);
      if (i === null) return dxt.tip.hide();
      const { calls } = dxt;
      const name = calls.names.find(([process]) => process === calls.process[i])?.[1] ?? "";
      const duration = calls.duration_ns[i];
      return dxt.tip.show(x, y, `${name}: ${dxt.units.layer(calls.ops[calls.op[i]])}`, [
        ["file", calls.files[calls.file[i]]],
        ["offset", calls.offset[i] < 0 ? "none" : units.count(calls.offset[i])],
        ["length", `${units.count(calls.length[i])} B`],
        ["start", units.moment(calls.start_ns[i], 1000)],
        ["end", units.moment(calls.start_ns[i] + duration, 1000)],
        ["took", units.duration(duration)],
        ...(calls.length[i] > 0 && duration > 0 && data.slices[calls.slice[i]].kind !== "metadata" ? [["bandwidth", units.rate((calls.length[i] * 1e9) / duration)]] : []),
      ]);
    }
    const row = Math.floor(own(at[1]));
    const bin = Math.floor((at[0] - heat.from) / heat.width);
    if (row < 0 || row >= heat.rows || bin < 0 || bin >= heat.bins) return dxt.tip.hide();
    const cell = row * heat.bins + bin;
    const start = heat.from + bin * heat.width;
    dxt.tip.show(x, y, grid.rows[row].label, [
      ["time", `${units.moment(start, heat.width)} to ${units.moment(start + heat.width, heat.width)}`],
      ["in calls", `${units.percent(heat.busy[cell] / heat.width / (grid.rows[row].members || 1))}, ${units.duration(heat.busy[cell])}`],
      ["bytes", `${units.bytes(heat.bytes[cell])}, ${units.rate((heat.bytes[cell] * 1e9) / heat.width)}`],
      ["calls", units.count(heat.calls[cell])],
    ]);
  };

  const all = () => {
    refresh();
    chart.setOption(option(), { replaceMerge: ["dataZoom"] });
    describe();
    legend();
  };
  dxt.map = {
    start() {
      refresh();
      chart = echarts.init(place);
      dxt.map.chart = chart;
      chart.setOption(option());
      chart.on("datazoom", dxt.fromChart(chart));
      chart.getZr().on("mousemove", hover);
      chart.getZr().on("globalout", dxt.tip.hide);
      describe();
      legend();
      dxt.on("view", all);
      dxt.on("zoom", () => {
        const before = shown;
        refresh();
        dxt.toChart(chart, true);
        chart.setOption({ yAxis: { axisLabel: { customValues: labels() } } });
        describe();
        if (Boolean(before) !== Boolean(shown)) legend();
      });
    },
    get singles() {
      return shown;
    },
    heightOf: height,
  };
})();
