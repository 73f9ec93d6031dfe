// A heatmap between the axes of a chart: painted pixel by pixel for what is visible, so that any number of cells costs the same.
// The colour of a pixel is a kind of calls, its strength how much: where a row is tall enough, a cell is divided among its kinds.
(() => {
  // Rows at least so many pixels tall are divided.
  const TALL = 6;
  // Values by row and bin; their colours go by the square root, so that little is seen, and much still differs from very much.
  // A cell without calls has bytes of a heat map alone: `loose` is how much they are of the most of such cells.
  dxt.heat = (sum, value, { key, least = 0 }) => {
    const size = sum.rows * sum.bins;
    const values = new Float64Array(size);
    const loose = new Float64Array(key === "bytes" ? 0 : size);
    let [most, mostLoose, any] = [least, 0, false];
    for (let at = 0; at < size; at++) {
      values[at] = value(at);
      any ||= values[at] > 0;
      if (values[at] > most) most = values[at];
      if (loose.length > 0 && sum.bytes[at] > 0 && sum.calls[at] === 0 && sum.busy[at] === 0) {
        loose[at] = sum.bytes[at];
        mostLoose = Math.max(mostLoose, sum.bytes[at]);
      }
    }
    const shown = dxt.kinds.filter((kind) => sum.kinds[kind]);
    return { ...sum, ...divided(sum, shown, (at) => (loose[at] > 0 ? "bytes" : key)), values, loose: mostLoose > 0 ? loose : null, mostLoose, most: any ? most : 0, shown,
      at: (share) => most * share ** 2, place: (found) => Math.sqrt(Math.min(1, found / most)) };
  };
  // How cells are divided among the kinds that are shown: where the first ends, and the second; and the largest of them.
  const divided = (sum, shown, keyOf) => {
    const size = sum.rows * sum.bins;
    const [firstEnd, secondEnd, largest] = [new Float32Array(size), new Float32Array(size), new Uint8Array(size)];
    for (let at = 0; at < size; at++) {
      const key = keyOf(at);
      const parts = [0, 1, 2].map((kind) => (kind < shown.length ? sum.kinds[shown[kind]][key][at] : 0));
      const all = parts[0] + parts[1] + parts[2];
      if (all === 0) continue;
      firstEnd[at] = parts[0] / all;
      secondEnd[at] = (parts[0] + parts[1]) / all;
      largest[at] = parts.indexOf(Math.max(...parts));
    }
    return { firstEnd, secondEnd, largest };
  };

  // Hatches what lies in `view` of rows that made calls without segments, behind all that is painted.
  dxt.hatch = (canvas, unseen, view) => {
    const context = canvas.getContext("2d");
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = context.createPattern(dxt.theme.hatch(), "repeat");
    const x = (time) => ((time - view.from) / (view.until - view.from)) * canvas.width;
    const y = (row) => ((row - view.top) / (view.bottom - view.top)) * canvas.height;
    for (const { row, from_ns, until_ns } of unseen) {
      const [left, top] = [Math.max(0, x(from_ns)), Math.max(0, y(row))];
      context.fillRect(left, top, Math.min(canvas.width, x(until_ns)) - left, Math.min(canvas.height, y(row + 1)) - top);
    }
    context.globalCompositeOperation = "source-over";
  };

  // Paints `heat` for x (ns) and y (rows) in view; the largest cell of a pixel counts.
  dxt.paint = (heat, view, width, height) => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width));
    canvas.height = Math.max(1, Math.round(height));
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const palette = heat.shown.map((kind) => {
      const ramp = dxt.theme.ramp(kind);
      const bytes = new Uint8ClampedArray(256 * 4);
      for (let i = 0; i < 256; i++) bytes.set([ramp[i * 3], ramp[i * 3 + 1], ramp[i * 3 + 2], 255], i * 4);
      return new Uint32Array(bytes.buffer);
    });
    const bins = new Int32Array(canvas.width + 1);
    for (let x = 0; x <= canvas.width; x++) {
      const time = view.from + ((view.until - view.from) * x) / canvas.width;
      bins[x] = Math.floor((time - heat.from) / heat.width);
    }
    const tall = canvas.height / (view.bottom - view.top) >= TALL;
    const rowAt = (y) => view.top + ((view.bottom - view.top) * y) / canvas.height;
    // By x: the cell that is shown there, or -1, and the colour that it has; looked up once for all pixels of a row.
    const cells = new Int32Array(canvas.width);
    const colors = new Uint8Array(canvas.width);
    const striped = new Uint8Array(canvas.width);
    const look = (first, end, x) => {
      let [most, cell, mostLoose, looseCell] = [0, -1, 0, -1];
      for (let row = Math.max(0, first); row < Math.min(end, heat.rows); row++) {
        for (let bin = Math.max(0, bins[x]); bin < Math.min(Math.max(bins[x + 1], bins[x] + 1), heat.bins); bin++) {
          const at = row * heat.bins + bin;
          if (heat.values[at] > most) {
            most = heat.values[at];
            cell = at;
          } else if (heat.loose && heat.loose[at] > mostLoose) {
            mostLoose = heat.loose[at];
            looseCell = at;
          }
        }
      }
      cells[x] = cell >= 0 ? cell : looseCell;
      striped[x] = cell < 0 ? 1 : 0;
      colors[x] = Math.round((cell >= 0 ? heat.place(most) : Math.sqrt(mostLoose / heat.mostLoose)) * 255);
    };
    let last = [-1, -1];
    for (let y = 0; y < canvas.height; y++) {
      const first = Math.floor(rowAt(y));
      const end = Math.max(first + 1, Math.floor(rowAt(y + 1)));
      if (first !== last[0] || end !== last[1]) {
        last = [first, end];
        for (let x = 0; x < canvas.width; x++) look(first, end, x);
      }
      const place = rowAt(y + 0.5) - first;
      for (let x = 0; x < canvas.width; x++) {
        const cell = cells[x];
        if (cell < 0 || (striped[x] && (x + y) % 8 > 3)) continue;
        const kind = !tall ? heat.largest[cell] : place < heat.firstEnd[cell] ? 0 : place < heat.secondEnd[cell] ? 1 : Math.min(2, palette.length - 1);
        pixels[y * canvas.width + x] = palette[kind][colors[x]];
      }
    }
    context.putImageData(image, 0, 0);
    dxt.hatch(canvas, heat.unseen, view);
    return canvas;
  };
})();
