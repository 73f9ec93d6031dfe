// The timeline: rows (ranks, nodes, OSTs, files) by time, as a heatmap, or call by call where they are few.
(() => {
  const { data, state, whole, units } = dxt;
  const place = document.getElementById("map");
  const names = { ranks: "rank", nodes: "node", targets: "OST", files: "file" };
  let chart = null;
  let heat = null;
  let grid = null;
  let shown = null; // numbers of the calls that are drawn, or null

  const embedded = () => data[state.rows];
  // A row of the axis, which is the embedded grid's, as a row of the grid in use; they differ where a tile is finer.
  const own = (row) => (embedded().first + row * embedded().per_row - grid.first) / grid.per_row;

  // What is painted changes with the filters and the grid, not with the zoom.
  let made = "";
  const refresh = () => {
    const tile = dxt.tileInView();
    const before = grid;
    grid = tile?.grid ?? embedded();
    const wanted = [state.rows, state.measure, state.kind, state.layer, state.file].join("\n");
    if (grid !== before || wanted !== made) {
      made = wanted;
      const measure = dxt.measures[state.measure];
      const sum = dxt.sum(grid, dxt.keep(state.rows));
      heat = dxt.heat(sum, (at) => measure.of(sum, at, grid.rows[Math.floor(at / sum.bins)].members || 1), measure);
      dxt.mapHeat = heat;
      dxt.mapGrid = grid;
    }
    shown = dxt.singleCalls.choose();
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
    const canvas = shown ? dxt.singleCalls.draw(shown, view, width * ratio, tall * ratio)
      : dxt.paint(heat, { ...view, top: own(view.top), bottom: own(view.bottom) }, width * ratio, tall * ratio);
    return { type: "image", style: { image: canvas, x, y, width, height: tall }, silent: true };
  };

  const short = (text) => (text.length > 15 ? `…${text.slice(-14)}` : text);
  const label = (value) => {
    const name = grid.rows[Math.floor(own(value))]?.label ?? "";
    return short(state.rows === "files" ? units.last(name) : name);
  };
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
    if (shown) return dxt.legend.calls(element, embedded().unseen);
    const measure = dxt.measures[state.measure];
    const each = { ranks: "rank", nodes: "process", targets: "OST" }[state.rows];
    return dxt.legend.heat(element, heat, measure.show, measure.name + (state.measure === "busy" && each ? ` per ${each}` : ""));
  };

  const hover = (event) => {
    const at = chart.convertFromPixel({ seriesIndex: 0 }, [event.offsetX, event.offsetY]);
    if (!at || !chart.containPixel({ seriesIndex: 0 }, [event.offsetX, event.offsetY])) return dxt.tip.hide();
    const box = place.getBoundingClientRect();
    const [x, y] = [box.left + event.offsetX, box.top + event.offsetY];
    if (shown) {
      const call = dxt.singleCalls.at(shown, at[0], at[1], ((state.until - state.from) / place.clientWidth) * 2);
      return call === null ? dxt.tip.hide() : dxt.pointed.call(x, y, call);
    }
    const row = Math.floor(own(at[1]));
    if (row < 0 || row >= heat.rows) return dxt.tip.hide();
    return dxt.pointed.cell(x, y, heat, row, at[0], grid.rows[row], state.rows === "files");
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
  };
})();
