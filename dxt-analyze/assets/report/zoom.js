// One span of time for all charts: by wheel, drag and slider of any of them, by buttons, and by keys.
(() => {
  const { state, whole } = dxt;
  let own = false;

  // What a chart's own zooming means for all.
  dxt.fromChart = (chart) => (event) => {
    if (own) return;
    const changes = event.batch ?? [event];
    let { from, until, top, bottom } = dxt.zoomWanted() ?? state;
    const rows = dxt.data[state.rows].rows.length;
    for (const change of changes) {
      const zoom = chart.getOption().dataZoom.find((one) => one.id === change.dataZoomId) ?? {};
      if (zoom.yAxisIndex !== undefined && zoom.xAxisIndex === undefined) {
        top = (rows * change.start) / 100;
        bottom = (rows * change.end) / 100;
      } else {
        from = whole.from + ((whole.until - whole.from) * change.start) / 100;
        until = whole.from + ((whole.until - whole.from) * change.end) / 100;
      }
    }
    dxt.zoomSoon(from, until, top, bottom);
  };

  // Makes a chart show what all show.
  dxt.toChart = (chart, withRows = false) => {
    own = true;
    const batch = [{ dataZoomIndex: 0, startValue: state.from, endValue: state.until }];
    if (withRows) {
      const rows = dxt.data[state.rows].rows.length;
      batch.push({ dataZoomIndex: 1, startValue: state.top, endValue: state.bottom ?? Math.max(rows, 1) });
      batch.push({ dataZoomIndex: 2, startValue: state.from, endValue: state.until });
    }
    chart.dispatchAction({ type: "dataZoom", batch });
    own = false;
  };

  const by = (factor) => {
    const middle = (state.from + state.until) / 2;
    const half = ((state.until - state.from) * factor) / 2;
    dxt.zoomTo(middle - half, middle + half);
  };
  const pan = (share) => {
    const step = (state.until - state.from) * share;
    dxt.zoomTo(state.from + step, state.until + step);
  };
  const panRows = (share) => {
    const rows = dxt.data[state.rows].rows.length;
    const bottom = state.bottom ?? rows;
    const step = Math.min(Math.max((bottom - state.top) * share, -state.top), rows - bottom);
    dxt.zoomTo(state.from, state.until, state.top + step, bottom + step);
  };
  const reset = () => dxt.zoomTo(whole.from, whole.until, 0, null);
  const keys = {
    "+": () => by(0.5), "=": () => by(0.5), "-": () => by(2), _: () => by(2), 0: reset,
    ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), ArrowUp: () => panRows(-0.25), ArrowDown: () => panRows(0.25),
  };

  dxt.zoom = {
    start() {
      document.getElementById("zoom-in").addEventListener("click", () => by(0.5));
      document.getElementById("zoom-out").addEventListener("click", () => by(2));
      document.getElementById("zoom-reset").addEventListener("click", reset);
      // A page without calls has no offsets.
      for (const id of ["map", "series", "offsets"]) {
        document.getElementById(id)?.addEventListener("keydown", (event) => {
          if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
          event.preventDefault();
          keys[event.key]();
        });
      }
    },
  };
})();
