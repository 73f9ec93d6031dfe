// The job over time: bandwidth, calls in flight and request sizes, one above the other.
(() => {
  const { data, state, units } = dxt;
  const place = document.getElementById("series");
  const { job } = data;
  let chart = null;
  const start = (bin) => job.from_ns + bin * job.width_ns;
  const sizeName = (at) => {
    const bounds = ["100 B", "1 KiB", "10 KiB", "100 KiB", "1 MiB", "4 MiB", "10 MiB", "100 MiB", "1 GiB"];
    return at === 0 ? "up to 100 B" : at === bounds.length ? "over 1 GiB" : `${bounds[at - 1]} – ${bounds[at]}`;
  };

  // By kind, of the slices that pass the filters: the job's grid has one row.
  const sums = () => {
    const keep = dxt.keep("job");
    const of = (kind) => dxt.sum({ ...job, rows: 1 }, (slice) => keep(slice) && data.slices[slice].kind === kind);
    return { read: of("read"), write: of("write"), metadata: of("metadata") };
  };

  const step = (values) => Array.from(values, (value, bin) => [start(bin), value]).concat([[start(job.bins), values[values.length - 1] ?? 0]]);
  // Round marks of the axis of bandwidth.
  const marks = (sums) => {
    const most = Math.max(0, ...sums.map((sum) => sum.bytes.reduce((a, b) => Math.max(a, b), 0))) * (1e9 / job.width_ns);
    if (!(most > 0)) return [];
    const interval = units.niceStep(most);
    return [{ interval, max: Math.ceil(most / interval) * interval }];
  };
  const option = () => {
    const soft = dxt.theme.color("soft");
    const { read, write, metadata } = (dxt.seriesSums = sums());
    const rate = (sum) => step(sum.bytes.map((bytes) => (bytes * 1e9) / job.width_ns));
    const busy = (sum) => step(sum.busy.map((ns) => ns / job.width_ns));
    const line = (name, at, color, values, stack) => ({
      name, type: "line", step: "end", showSymbol: false, xAxisIndex: at, yAxisIndex: at, data: values, stack,
      lineStyle: { width: stack ? 0 : 1.2, color }, itemStyle: { color }, areaStyle: { color, opacity: stack ? 0.85 : 0.3 }, sampling: stack ? undefined : "max", emphasis: { disabled: true },
    });
    const kinds = dxt.theme.kinds;
    const used = job.size_bounds.concat([0]).map((_, at) => at).filter((at) => job.sizes.some((sizes) => sizes[at] > 0));
    const totals = job.sizes.map((sizes) => sizes.reduce((sum, count) => sum + count, 0));
    const sizes = used.map((at) => line(sizeName(at), 2, dxt.theme.sizes[at], step(job.sizes.map((sizes, bin) => (totals[bin] ? sizes[at] / totals[bin] : 0))), "sizes"));
    const axis = (at, name, formatter, more = {}) => ({ gridIndex: at, type: "value", min: 0, splitNumber: 3, name, nameLocation: "end", nameGap: 11, nameTextStyle: { color: dxt.theme.color("text"), align: "left", padding: [0, 0, 0, -88] },
      axisLabel: { color: soft, formatter }, splitLine: { lineStyle: { color: dxt.theme.color("line") } }, ...more });
    const grid = (top, height) => ({ left: 112, right: 18, top, height });
    return {
      animation: false,
      grid: [grid(30, 90), grid(158, 75), grid(274, 75)],
      legend: [
        { top: 0, right: 18, data: ["read", "write", "metadata"], textStyle: { color: soft }, icon: "roundRect", itemWidth: 14, itemHeight: 10, selectedMode: false },
        { bottom: 0, left: 112, right: 18, data: used.map(sizeName), textStyle: { color: soft }, icon: "roundRect", itemWidth: 14, itemHeight: 10, selectedMode: false, type: "scroll" },
      ],
      tooltip: { trigger: "axis", axisPointer: { type: "line" }, confine: true, ...dxt.tip.style(), formatter: tip },
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      xAxis: [0, 1, 2].map((at) => dxt.timeAxis({ gridIndex: at, ...(at < 2 ? { name: "", axisLabel: { show: false } } : { nameGap: 22 }) })),
      yAxis: [axis(0, "Bandwidth", units.rate, ...marks([read, write])), axis(1, "Calls in flight", (value) => `${Number(value.toPrecision(3))}`), axis(2, "Request sizes, share of calls", units.percent, { max: 1, interval: 0.5 })],
      dataZoom: [dxt.timeZoom({ xAxisIndex: [0, 1, 2] })],
      series: [{ ...line("read", 0, kinds.read, rate(read)), markArea: bands() }, line("write", 0, kinds.write, rate(write)),
        line("read", 1, kinds.read, busy(read), "busy"), line("write", 1, kinds.write, busy(write), "busy"), line("metadata", 1, kinds.metadata, busy(metadata), "busy"), ...sizes,
        ...[0, 1, 2].map(noData)],
    };
  };

  // The phases as bands behind the bandwidth, named where they have room.
  const bands = () => {
    if (data.phases.length > 40) return undefined;
    const room = (phase) => ((phase.end_ns - phase.start_ns) / (state.until - state.from)) * (place.clientWidth - 130) > 70;
    return {
      silent: true,
      label: { position: "insideTop", color: dxt.theme.color("soft"), fontSize: 11 },
      itemStyle: { color: dxt.theme.dark ? "rgba(160,175,200,.13)" : "rgba(60,80,120,.07)" },
      data: data.phases.map((phase) => [{ xAxis: phase.start_ns, label: { show: room(phase), formatter: `${phase.number}: ${phase.kind}` } }, { xAxis: phase.end_ns }]),
    };
  };

  // A heat map has bytes, and nothing of the calls that moved them.
  const onlyBytes = () => {
    const sum = dxt.sum({ ...job, rows: 1 }, () => true);
    return sum.bytes.some((bytes) => bytes > 0) && sum.busy.every((ns) => ns === 0);
  };
  // Where processes made calls that have no segments: hatched, behind what is known of the others.
  const noData = (at) => {
    const all = at > 0 && onlyBytes() ? [{ from_ns: start(0), until_ns: start(job.bins) }] : data.ranks.unseen;
    const area = { xAxis: Math.min(...all.map((row) => row.from_ns)), label: { show: at === 1, formatter: "no data", position: "inside", color: dxt.theme.color("text") } };
    return { name: "no data", type: "line", xAxisIndex: at, yAxisIndex: at, data: [], silent: true, tooltip: { show: false },
      markArea: all.length ? { silent: true, itemStyle: { color: { image: dxt.theme.hatch(), repeat: "repeat" } }, data: [[area, { xAxis: Math.max(...all.map((row) => row.until_ns)) }]] } : undefined };
  };

  const tip = (points) => {
    const list = Array.isArray(points) ? points : [points];
    if (list.length === 0) return null;
    const bin = Math.min(job.bins - 1, Math.max(0, Math.floor((list[0].axisValue - job.from_ns) / job.width_ns)));
    const { read, write, metadata } = dxt.seriesSums;
    const sizes = job.sizes[bin];
    const total = sizes.reduce((sum, count) => sum + count, 0);
    const most = sizes.indexOf(Math.max(...sizes));
    const line = (name, key, show, scale) => [name, ...units.adding([read, write, metadata].map((sum) => sum[key][bin] * scale), show)];
    return dxt.tip.element(`${units.moment(start(bin), job.width_ns)} to ${units.moment(start(bin + 1), job.width_ns)}`,
      total ? [["most are", sizeName(most)]] : [], [
        ["", "reads", "writes", "metadata", "all"],
        line("bandwidth", "bytes", units.rate, 1e9 / job.width_ns),
        line("in flight", "busy", (value) => value.toFixed(2), 1 / job.width_ns),
        line("calls", "calls", units.count, 1),
      ]);
  };

  dxt.series = {
    start() {
      chart = echarts.init(place);
      dxt.series.chart = chart;
      chart.setOption(option());
      chart.on("datazoom", dxt.fromChart(chart));
      dxt.on("view", () => chart.setOption(option(), true));
      dxt.on("zoom", () => {
        dxt.toChart(chart);
        chart.setOption({ series: [{ markArea: bands() }] });
      });
    },
    sizeName,
    startOf: start,
  };
})();
