// Where in a file bytes were read and written, over time.
(() => {
  const { data, state, whole, units } = dxt;
  const place = document.getElementById("offsets");
  const file = document.getElementById("offset-file");
  const kind = document.getElementById("offset-kind");
  let chart = null;
  let view = null;
  let heat = null;

  const refresh = () => {
    view = data.offsets[file.value] ?? data.offsets[0];
    // Its slices are reads and writes.
    const sum = dxt.sum(view, (slice) => kind.value === "" || slice === Number(kind.value), (slice) => dxt.kinds[slice]);
    heat = dxt.heat(sum, (at) => (sum.bytes[at] * 1e9) / sum.width, dxt.measures.bytes);
    heat.unseen = view.unseen ? Array.from({ length: view.rows }, (_, row) => ({ ...view.unseen, row })) : [];
    dxt.offsetHeat = heat;
    dxt.offsetView = view;
    place.setAttribute("aria-label", `Offsets of ${units.last(view.file)} over time: ${units.bytes(view.rows * view.row_bytes)} in rows of ${units.bytes(view.row_bytes)}`);
  };
  const draw = (params, api) => {
    const { x, y, width, height } = params.coordSys;
    const [left] = api.coord([whole.from, 0]);
    const [right] = api.coord([whole.until, 0]);
    const time = (px) => whole.from + ((px - left) / (right - left)) * (whole.until - whole.from);
    const ratio = devicePixelRatio || 1;
    const image = dxt.paint(heat, { from: time(x), until: time(x + width), top: 0, bottom: heat.rows }, width * ratio, height * ratio);
    return { type: "image", style: { image, x, y, width, height }, silent: true };
  };
  const option = () => {
    const soft = dxt.theme.color("soft");
    const end = view.rows * view.row_bytes;
    return {
      animation: false,
      grid: { left: 112, right: 18, top: 8, bottom: 48 },
      xAxis: dxt.timeAxis(),
      yAxis: { type: "value", min: 0, max: end, interval: units.niceStep(end), inverse: true, name: "offset in the file", nameLocation: "middle", nameGap: 80, nameTextStyle: { color: soft }, splitLine: { show: false },
        axisLine: { show: true, lineStyle: { color: soft } }, axisLabel: { color: soft, formatter: units.bytes } },
      dataZoom: [dxt.timeZoom()],
      series: [{ type: "custom", renderItem: draw, data: [[whole.from, 0]], clip: true, silent: true }],
    };
  };
  const hover = (event) => {
    if (!chart.containPixel({ seriesIndex: 0 }, [event.offsetX, event.offsetY])) return dxt.tip.hide();
    const at = chart.convertFromPixel({ seriesIndex: 0 }, [event.offsetX, event.offsetY]);
    const row = Math.floor(at[1] / view.row_bytes);
    if (row < 0 || row >= heat.rows) return dxt.tip.hide();
    const box = place.getBoundingClientRect();
    const label = `${units.bytes(row * view.row_bytes)} to ${units.bytes((row + 1) * view.row_bytes)}`;
    dxt.pointed.cell(box.left + event.offsetX, box.top + event.offsetY, heat, row, at[0], { label, members: 0 });
  };
  const all = () => {
    refresh();
    chart.setOption(option(), true);
    dxt.legend.heat(document.getElementById("offsets-legend"), heat, units.rate, "bandwidth");
    dxt.changedAlternative?.("offsets");
  };

  dxt.offsets = {
    start() {
      if (data.offsets.length === 0) return void document.getElementById("places").remove();
      const names = units.shortNames(data.offsets.map((one) => one.file));
      file.replaceChildren(...data.offsets.map((one, number) => dxt.fileOption(one.file, names[number], number)));
      refresh();
      chart = echarts.init(place);
      dxt.offsets.chart = chart;
      all();
      chart.on("datazoom", dxt.fromChart(chart));
      chart.getZr().on("mousemove", hover);
      chart.getZr().on("globalout", dxt.tip.hide);
      file.addEventListener("change", all);
      kind.addEventListener("change", all);
      dxt.on("view", () => chart.setOption(option(), true));
      dxt.on("zoom", () => dxt.toChart(chart));
    },
  };
})();
