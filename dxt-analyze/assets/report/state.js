// What is shown: rows, measure, filters and the span of time, which all charts over time share. Whoever changes it says so here.
(() => {
  const { data } = dxt;
  const whole = { from: data.span.from_ns, until: data.span.from_ns + data.span.bins * data.span.width_ns };
  whole.until = Math.max(data.span.until_ns, whole.from + data.span.width_ns);
  const listeners = { view: [], zoom: [] };
  const state = { rows: "ranks", measure: "busy", kind: "", layer: "", file: "", from: whole.from, until: whole.until, top: 0, bottom: null };
  dxt.views = { ranks: "Ranks", nodes: "Nodes", targets: "OSTs", files: "Files" };
  dxt.state = state;
  dxt.whole = whole;
  dxt.on = (what, listener) => listeners[what].push(listener);
  dxt.changed = (what) => listeners[what].forEach((listener) => listener());

  // Shows a span of time, and of rows where given; both stay within what there is.
  dxt.zoomTo = (from, until, top = state.top, bottom = state.bottom) => {
    const least = 10;
    const span = Math.min(Math.max(until - from, least), whole.until - whole.from);
    state.from = Math.min(Math.max(from, whole.from), whole.until - span);
    state.until = state.from + span;
    state.top = top;
    state.bottom = bottom;
    dxt.changed("zoom");
  };

  // The same from a wheel or a drag, which say so faster than anything can be drawn: once for each picture.
  let soon = null;
  dxt.zoomSoon = (...span) => {
    if (soon === null) requestAnimationFrame(() => {
      const last = soon;
      soon = null;
      dxt.zoomTo(...last);
    });
    soon = span;
  };
  // What was said and is not shown yet, if anything.
  dxt.zoomWanted = () => soon && { from: soon[0], until: soon[1], top: soon[2], bottom: soon[3] };

  // Whether a slice passes the filters. Without a layer, calls count where the program made them. Grids of storage have only
  // the layer that reaches it.
  dxt.keep = (of) => (number) => {
    const slice = data.slices[number];
    if (!slice) return false;
    if (state.kind && slice.kind !== state.kind) return false;
    if (of !== "targets" && (state.layer ? slice.layer !== state.layer : slice.nested)) return false;
    if (state.file !== "" && (state.file === "others" ? slice.file !== null : slice.file !== state.file)) return false;
    return true;
  };
  // A file to choose: its short name, with the whole path under the pointer.
  dxt.fileOption = (path, short, value) => {
    const option = new Option(short.length > 48 ? `…${short.slice(-47)}` : short, value);
    option.title = path;
    return option;
  };
  dxt.filterWords = () => {
    const words = [];
    if (state.kind) words.push({ read: "reads", write: "writes", metadata: "metadata" }[state.kind]);
    if (state.layer) words.push(dxt.units.layer(state.layer));
    if (state.file) words.push(state.file === "others" ? "other files" : dxt.units.last(state.file));
    return words.join(", ");
  };
})();
