// On paper: the first screen and the charts, in light colours, with all of the run, whatever was zoomed into on the screen.
(() => {
  const { state, whole } = dxt;
  // Charts are drawn this wide, and the style sheet scales the picture to the paper.
  const WIDTH = 760;
  let before = null;
  const drawn = (charts, size) => charts().forEach((chart) => {
    chart.resize(size);
    // There is no next frame in which it could be drawn.
    chart.getZr().refreshImmediately();
  });
  const out = (charts) => () => {
    if (before) return;
    before = { ...state, theme: document.documentElement.dataset.theme };
    drawn(charts, { width: WIDTH });
    dxt.theme.set("light");
    dxt.zoomTo(whole.from, whole.until, 0, null);
    drawn(charts, { width: WIDTH });
  };
  const back = (charts) => () => {
    if (!before) return;
    const { theme, from, until, top, bottom } = before;
    before = null;
    dxt.theme.set(theme);
    drawn(charts, { width: "auto" });
    dxt.zoomTo(from, until, top, bottom);
    drawn(charts, { width: "auto" });
  };
  dxt.print = {
    start(charts) {
      addEventListener("beforeprint", out(charts));
      addEventListener("afterprint", back(charts));
    },
  };
})();
