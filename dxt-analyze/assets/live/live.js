// Asks for the board each interval and draws it anew: nothing is remembered here but what the charts show.
(() => {
  const find = (id) => document.getElementById(id);
  const { units, theme } = dxt;
  const colors = { "POSIX read": "#0072b2", "POSIX write": "#d55e00", "MPIIO read": "#56b4e9", "MPIIO write": "#e69f00", "STDIO read": "#004a75", "STDIO write": "#8a3d00", "HDF5 read": "#009e73", "HDF5 write": "#cc79a7" };
  const named = (name) => units.layer(name);
  const charts = new Map(["bytes", "calls", "durations"].map((id) => [id, echarts.init(find(id), null, { renderer: "canvas" })]));
  let board = null;
  let paused = false;
  const seconds = () => board.interval_ns / 1e9;
  const time = (point) => point.begin_unix_ns / 1e6;
  const points = () => board.points.slice(-Number(find("span").value));

  const cell = (text, number) => {
    const td = document.createElement("td");
    td.textContent = text;
    if (number) td.className = "number";
    return td;
  };
  const row = (cells) => {
    const tr = document.createElement("tr");
    tr.append(...cells);
    return tr;
  };
  const tally = (sums) => [cell(units.duration(sums.time_ns), true), cell(units.count(sums.calls), true), cell(units.bytes(sums.bytes), true), cell(units.duration(sums.longest_ns), true)];

  const axes = (format) => ({
    backgroundColor: "transparent",
    animation: false,
    textStyle: { color: theme.color("text") },
    grid: { left: 78, right: 16, top: 36, bottom: 28 },
    xAxis: { type: "time", axisLabel: { color: theme.color("soft"), hideOverlap: true }, axisLine: { lineStyle: { color: theme.color("line") } } },
    yAxis: { type: "value", axisLabel: { color: theme.color("soft"), formatter: format }, splitLine: { lineStyle: { color: theme.color("line") } } },
    legend: { type: "scroll", top: 0, textStyle: { color: theme.color("text") } },
    tooltip: { trigger: "axis", confine: true, renderMode: "richText", valueFormatter: format, backgroundColor: theme.color("back"), borderColor: theme.color("line"), textStyle: { color: theme.color("text") } },
  });

  const lines = (id, of, format) => {
    const all = points();
    const names = [...new Set(all.flatMap((point) => Object.keys(point.rates).filter((name) => of(point.rates[name]) > 0)))].sort();
    const series = names.map((name) => ({
      name: named(name),
      type: "line",
      showSymbol: all.length < 3,
      itemStyle: { color: colors[name] },
      data: all.map((point) => [time(point), point.rates[name] ? of(point.rates[name]) / seconds() : 0]),
    }));
    charts.get(id).setOption({ ...axes(format), series }, true);
  };

  const durations = () => {
    const all = points();
    const used = all.flatMap((point) => point.durations.map((count, bucket) => (count > 0 ? bucket : -1))).filter((bucket) => bucket >= 0);
    const [low, high] = used.length ? [Math.min(...used), Math.max(...used)] : [10, 20];
    const labels = [];
    for (let bucket = low; bucket <= high; bucket++) labels.push(units.duration(bucket === 0 ? 0 : 2 ** (bucket - 1)));
    const data = all.flatMap((point, at) => point.durations.map((count, bucket) => [at, bucket - low, count])).filter(([, , count]) => count > 0);
    // A few slow calls matter as much as thousands of quick ones: colours go by the number of digits.
    data.forEach((one) => one.push(Math.log10(one[2]) + 0.2));
    const most = Math.max(1, ...data.map(([, , , shade]) => shade));
    const base = axes();
    charts.get("durations").setOption(
      {
        ...base,
        legend: undefined,
        tooltip: { ...base.tooltip, trigger: "item", formatter: ({ value: [at, bucket, count] }) => `${units.count(count)} ${count === 1 ? "call" : "calls"} of ${labels[bucket]} to ${units.duration(2 ** (low + bucket))}\n${new Date(time(all[at])).toLocaleTimeString()}` },
        xAxis: { type: "category", data: all.map((point) => new Date(time(point)).toLocaleTimeString()), axisLabel: { color: theme.color("soft"), hideOverlap: true } },
        yAxis: { type: "category", data: labels, axisLabel: { color: theme.color("soft") } },
        visualMap: { min: 0, max: most, dimension: 3, show: false, inRange: { color: ["#fde725", "#35b779", "#31688e", "#440154"] } },
        series: [{ type: "heatmap", data, encode: { x: 0, y: 1, value: 3 }, progressive: 0 }],
      },
      true,
    );
  };

  const numbers = () => {
    const last = board.points.at(-1);
    const rates = last ? Object.entries(last.rates) : [];
    const sum = (of, ends) => rates.filter(([name]) => !ends || name.endsWith(ends)).reduce((all, [, rate]) => all + of(rate), 0);
    const longest = Math.max(0, ...rates.map(([, rate]) => rate.longest_ns));
    const shown = [
      ["read", units.rate(sum((rate) => rate.bytes, " read") / seconds())],
      ["written", units.rate(sum((rate) => rate.bytes, " write") / seconds())],
      ["calls", units.perSecond(sum((rate) => rate.calls) / seconds())],
      ["time in calls, summed over processes", units.duration(sum((rate) => rate.time_ns))],
      ["longest call", units.duration(longest)],
      ["processes", `${units.count(board.watched)}, ${units.count(board.ended)} ended`],
    ];
    find("numbers").replaceChildren(
      ...shown.map(([what, value]) => {
        const item = document.createElement("li");
        const [b, span] = [document.createElement("b"), document.createElement("span")];
        b.textContent = value;
        span.textContent = what;
        item.append(b, span);
        return item;
      }),
    );
  };

  const draw = () => {
    if (!board) return;
    numbers();
    lines("bytes", (rate) => rate.bytes, units.rate);
    lines("calls", (rate) => rate.calls, units.perSecond);
    durations();
    find("processes").replaceChildren(...board.processes.map((one) => row([cell(one.name), cell(one.node), cell(one.job), ...tally(one.now), cell(units.duration(one.all.time_ns), true)])));
    find("nodes").hidden = find("to-nodes").hidden = board.nodes.length < 2;
    find("by-node").replaceChildren(...board.nodes.map((one) => row([cell(one.name), ...tally(one.now), cell(units.duration(one.all.time_ns), true)])));
    find("named").replaceChildren(...board.files.map((one) => row([cell(one.name), ...tally(one.all)])));
    const items = (all) =>
      all.map(([count, what]) => {
        const item = document.createElement("li");
        item.textContent = `${units.count(count)} ${what}`;
        return item;
      });
    const out = Object.entries(board.left_out).map(([what, count]) => [count, what]);
    find("missing").replaceChildren(...items(board.words));
    find("left").replaceChildren(...items(out));
    find("unseen").hidden = board.words.length === 0;
    find("out").hidden = out.length === 0;
    const last = board.points.at(-1);
    find("status").textContent = last ? `latest interval: ${new Date(time(last)).toLocaleTimeString()}, ${units.duration(board.interval_ns)} long${paused ? "; paused" : ""}` : "no calls yet";
  };

  const ask = async () => {
    try {
      const answer = await fetch("board");
      if (!answer.ok) throw new Error(answer.statusText);
      const next = await answer.json();
      if (!paused) {
        board = next;
        draw();
      }
    } catch {
      find("status").textContent = "`dxt-analyze live` does not answer: it has ended, or cannot be reached";
    }
    setTimeout(ask, Math.max(250, board ? board.interval_ns / 1e6 : 1000));
  };
  find("pause").addEventListener("click", () => {
    paused = !paused;
    find("pause").setAttribute("aria-pressed", String(paused));
    draw();
  });
  find("span").addEventListener("change", draw);
  theme.onChange(draw);
  addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
  dxt.live = { board: () => board, charts };
  ask();
  dxt.loadedMs = performance.now();
})();
