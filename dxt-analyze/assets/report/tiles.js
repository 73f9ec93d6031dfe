// Finer grids and single calls from `dxt-analyze serve`, where the page came from it: asked for when the view is finer than what
// is at hand and stays so for a moment. A question that nobody wants the answer of any more is taken back, so that the server is
// free for the next. Opened from disk, the page asks nobody.
(() => {
  const { data, state, whole } = dxt;
  // How long a view stays before anything is asked, ms.
  const QUIET = 150;
  let asked = null;
  let timer = null;
  dxt.tile = null;

  // Whether a tile, or a question, is of all that is in view.
  const covers = (tile) => tile && tile.rows === state.rows && tile.from <= state.from && tile.until >= state.until
    && tile.first <= first() && tile.end >= end();
  // Whether it is fine enough: until the view is half as long, or has half the rows, of that for which it was asked. Single calls
  // are as fine as can be.
  const serves = (tile) => covers(tile) && (Boolean(tile.calls) || ((state.until - state.from) * 2 >= tile.span
    && (state.rows !== "ranks" || tile.grid?.per_row === 1 || (end() - first()) * 2 >= tile.end - tile.first)));
  const grid = () => data[state.rows];
  const first = () => grid().first + Math.floor(state.top) * grid().per_row;
  const end = () => {
    const rows = grid().rows.length;
    return grid().first + Math.ceil(Math.min(state.bottom ?? rows, rows)) * grid().per_row;
  };
  dxt.tileInView = () => (covers(dxt.tile) ? dxt.tile : null);
  const wanted = () => (state.until - state.from) / grid().width_ns < grid().bins / 2 || (state.rows === "ranks" && end() - first() < data.processes / 2 && grid().per_row > 1);
  const refining = (is) => (document.getElementById("refining").hidden = !is);

  const ask = async () => {
    // A margin on both sides, so that a little panning needs no new one.
    const margin = (state.until - state.from) / 4;
    const query = { rows: state.rows, from: Math.floor(Math.max(whole.from, state.from - margin)), until: Math.ceil(Math.min(whole.until, state.until + margin)) };
    if (state.rows === "ranks") Object.assign(query, { first: first(), end: end() });
    const mine = (asked = { rows: query.rows, from: query.from, until: query.until, first: query.first ?? 0, end: query.end ?? Infinity, span: state.until - state.from, stop: new AbortController() });
    try {
      const answer = await fetch(`tile?${new URLSearchParams(query)}`, { signal: mine.stop.signal });
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      const tile = await answer.json();
      if (mine !== asked) return;
      dxt.tile = { ...mine, ...tile };
      over();
      dxt.changed("view");
    } catch (error) {
      if (mine !== asked) return;
      over();
      document.getElementById("status").textContent = `failed to load a finer view: ${error.message}`;
    }
  };
  const over = () => {
    asked = null;
    refining(false);
  };
  const takeBack = () => {
    clearTimeout(timer);
    asked?.stop.abort();
    over();
  };

  dxt.on("zoom", () => {
    if (!data.tiles) return;
    if (!wanted() || serves(dxt.tile)) return takeBack();
    if (asked && serves(asked)) return clearTimeout(timer);
    takeBack();
    refining(true);
    timer = setTimeout(ask, QUIET);
  });
})();
