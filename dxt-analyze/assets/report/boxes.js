// Box plots of the bandwidth of single calls, per operation, with the outliers as points that lead to their rows.
(() => {
  const { data, units } = dxt;
  const place = document.getElementById("boxes");
  let chart = null;
  const title = (group) => `${dxt.units.layer(group.layer)} ${group.op}${group.mode ? ` ${group.mode}` : ""}${group.nested ? "\nin MPI-IO" : ""}`;
  // Bandwidths have a logarithmic axis, which has no place for 0.
  const groups = data.boxes.filter((group) => group.max > 0);
  const floor = (value) => Math.max(value, 1);
  const whiskers = (group) => [
    floor(Math.max(group.min, group.low_fence)), floor(group.q1), floor(group.median), floor(group.q3), floor(Math.min(group.max, group.high_fence)),
  ];
  dxt.boxGroups = groups;

  const option = () => {
    const soft = dxt.theme.color("soft");
    const listed = data.boxes.filter((group) => group.rows.length > 0);
    const points = groups.flatMap((group, at) => group.rows.filter((row) => row.bandwidth).map((row) => ({
      value: [floor(row.bandwidth), at], row, target: `r-outliers-${listed.indexOf(group)}-${group.rows.indexOf(row)}`,
    })));
    return {
      animation: false,
      grid: { left: 150, right: 26, top: 10, bottom: 46 },
      tooltip: { trigger: "item", confine: true, ...dxt.tip.style(), formatter: tip },
      xAxis: { type: "log", logBase: 32, name: "bandwidth of one call", nameLocation: "middle", nameGap: 28, nameTextStyle: { color: soft }, axisLabel: { color: soft, formatter: units.rate, hideOverlap: true }, splitLine: { lineStyle: { color: dxt.theme.color("line") } } },
      yAxis: { type: "category", inverse: true, data: groups.map(title), axisLabel: { color: soft, lineHeight: 15 }, axisTick: { show: false } },
      series: [
        { type: "boxplot", data: groups.map(whiskers), boxWidth: [12, 26], itemStyle: { color: dxt.theme.color("card"), borderColor: "#0072b2", borderWidth: 1.6 }, emphasis: { disabled: true } },
        { type: "scatter", data: points, symbolSize: 10, cursor: "pointer", itemStyle: { color: "#d55e00", opacity: 0.75, borderColor: dxt.theme.color("back"), borderWidth: 1 } },
      ],
    };
  };
  const tip = (point) => {
    if (point.seriesType === "scatter") {
      const { row } = point.data;
      return dxt.tip.element(`rank ${row.rank} on ${row.node}`, [
        ["file", units.last(row.file)], ...(units.last(row.file) === row.file ? [] : [["path", row.file]]), ["offset", units.count(row.offset)], ["length", `${units.count(row.length)} B`],
        ["start", units.moment(row.start_ns, 1000)], ["took", units.duration(row.end_ns - row.start_ns)], ["bandwidth", units.rate(row.bandwidth)],
      ]);
    }
    const group = groups[point.dataIndex];
    return dxt.tip.element(title(group), [
      ["calls", units.count(group.sample)], ["median", units.rate(group.median)], ["middle half", `${units.rate(group.q1)} to ${units.rate(group.q3)}`],
      ["lowest", units.rate(group.min)], ["highest", units.rate(group.max)], ["outliers", units.count(group.outliers)],
    ]);
  };
  const size = () => {
    place.style.height = `${Math.max(150, groups.length * 54 + 70)}px`;
  };

  dxt.boxes = {
    start() {
      if (groups.length === 0) return void document.getElementById("spread").remove();
      size();
      chart = echarts.init(place);
      dxt.boxes.chart = chart;
      chart.setOption(option());
      chart.on("click", (point) => point.data?.target && dxt.showRow(point.data.target));
      dxt.theme.onChange(() => chart.setOption(option(), true));
    },
  };
})();
