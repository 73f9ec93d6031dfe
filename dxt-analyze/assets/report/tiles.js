// Finer grids and single calls from `dxt-analyze serve`, where the page came from it: asked for when the view is finer than what
// is embedded. Opened from disk, the page asks nobody.
(() => {
  const { data, state, whole } = dxt;
  let wanted = 0;
  let timer = null;
  dxt.tile = null;

  // Whether the tile holds all that is in view.
  const covers = (tile) => tile && tile.rows === state.rows && tile.from <= state.from && tile.until >= state.until
    && tile.first <= first() && tile.end >= end();
  const grid = () => data[state.rows];
  const first = () => grid().first + Math.floor(state.top) * grid().per_row;
  const end = () => {
    const rows = grid().rows.length;
    return grid().first + Math.ceil(Math.min(state.bottom ?? rows, rows)) * grid().per_row;
  };
  dxt.tileInView = () => (covers(dxt.tile) ? dxt.tile : null);

  const ask = async () => {
    const number = ++wanted;
    // A margin on both sides, so that a little panning needs no new one.
    const margin = (state.until - state.from) / 4;
    const query = { rows: state.rows, from: Math.floor(Math.max(whole.from, state.from - margin)), until: Math.ceil(Math.min(whole.until, state.until + margin)) };
    if (state.rows === "ranks") Object.assign(query, { first: first(), end: end() });
    try {
      const answer = await fetch(`tile?${new URLSearchParams(query)}`);
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      const tile = await answer.json();
      if (number !== wanted) return;
      dxt.tile = { rows: query.rows, from: query.from, until: query.until, first: query.first ?? 0, end: query.end ?? Infinity, ...tile };
      dxt.changed("view");
    } catch (error) {
      if (number === wanted) document.getElementById("status").textContent = `No finer grid: ${error.message}`;
    }
  };

  dxt.on("zoom", () => {
    if (!data.tiles) return;
    clearTimeout(timer);
    const finer = (state.until - state.from) / grid().width_ns < grid().bins / 2 || (state.rows === "ranks" && end() - first() < data.processes / 2 && grid().per_row > 1);
    if (!finer || covers(dxt.tile)) return;
    timer = setTimeout(ask, 200);
  });
})();
