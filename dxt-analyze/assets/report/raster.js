// A heatmap between the axes of a chart: painted pixel by pixel for what is visible, so that any number of cells costs the same.
// The colour of a pixel is a kind of calls, its strength how much: where a row is tall enough, a cell is divided among its kinds.
(() => {
  // Rows at least so many pixels tall are divided.
  const TALL = 6;
  // Values by row and bin; their colours go by the square root, so that little is seen, and much still differs from very much.
  // A cell without calls has bytes of a heat map alone: `loose` is how much they are of the most of such cells.
  dxt.heat = (sum, value, { key, least = 0 }) => {
    const values = new Float64Array(sum.rows * sum.bins);
    const loose = key === "bytes" ? null : new Float64Array(values.length);
    let [most, mostLoose] = [least, 0];
    let any = false;
    for (let at = 0; at < values.length; at++) {
      values[at] = value(at);
      any ||= values[at] > 0;
      if (values[at] > most) most = values[at];
      if (loose && sum.bytes[at] > 0 && sum.calls[at] === 0 && sum.busy[at] === 0) {
        loose[at] = sum.bytes[at];
        mostLoose = Math.max(mostLoose, sum.bytes[at]);
      }
    }
    const kinds = dxt.kinds.filter((kind) => sum.kinds[kind]);
    return { ...sum, values, loose: mostLoose > 0 ? loose : null, mostLoose, most: any ? most : 0, key, shown: kinds, at: (share) => most * share ** 2,
      place: (found) => Math.sqrt(Math.min(1, found / most)) };
  };
  // The kinds of a cell with their shares of it.
  const shares = (heat, cell, key) => {
    const parts = heat.shown.map((kind) => [kind, heat.kinds[kind][key][cell]]).filter(([, part]) => part > 0);
    const all = parts.reduce((sum, [, part]) => sum + part, 0);
    return parts.map(([kind, part]) => [kind, part / all]);
  };
  const kindAt = (parts, place) => {
    let sum = 0;
    for (const [kind, part] of parts) {
      sum += part;
      if (place < sum) return kind;
    }
    return parts[parts.length - 1][0];
  };
  const largest = (parts) => parts.reduce((best, part) => (part[1] > best[1] ? part : best))[0];

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
    const bins = new Int32Array(canvas.width + 1);
    for (let x = 0; x <= canvas.width; x++) {
      const time = view.from + ((view.until - view.from) * x) / canvas.width;
      bins[x] = Math.floor((time - heat.from) / heat.width);
    }
    const tall = canvas.height / (view.bottom - view.top) >= TALL;
    const rowAt = (y) => view.top + ((view.bottom - view.top) * y) / canvas.height;
    // The cell that a pixel shows, with its kinds and how strong it is; looked up once for all pixels of a row.
    const look = (first, end, x) => {
      let [most, cell] = [0, -1];
      let [mostLoose, looseCell] = [0, -1];
      for (let row = Math.max(0, first); row < Math.min(end, heat.rows); row++) {
        for (let bin = Math.max(0, bins[x]); bin < Math.min(Math.max(bins[x + 1], bins[x] + 1), heat.bins); bin++) {
          const at = row * heat.bins + bin;
          if (heat.values[at] > most) [most, cell] = [heat.values[at], at];
          if (heat.loose && heat.loose[at] > mostLoose) [mostLoose, looseCell] = [heat.loose[at], at];
        }
      }
      const step = (place) => Math.round(place * 255) * 3;
      if (cell >= 0) return { parts: shares(heat, cell, heat.key), color: step(heat.place(most)), striped: false };
      if (looseCell >= 0) return { parts: shares(heat, looseCell, "bytes"), color: step(Math.sqrt(mostLoose / heat.mostLoose)), striped: true };
      return null;
    };
    let last = null;
    let line = [];
    for (let y = 0; y < canvas.height; y++) {
      const first = Math.floor(rowAt(y));
      const end = Math.max(first + 1, Math.floor(rowAt(y + 1)));
      if (last !== `${first} ${end}`) {
        last = `${first} ${end}`;
        line = Array.from({ length: canvas.width }, (_, x) => (x > 0 && bins[x] === bins[x - 1] && bins[x + 1] <= bins[x] + 1 ? undefined : look(first, end, x)));
        for (let x = 1; x < line.length; x++) if (line[x] === undefined) line[x] = line[x - 1];
      }
      const place = rowAt(y + 0.5) - first;
      for (let x = 0; x < canvas.width; x++) {
        const found = line[x];
        if (!found || (found.striped && (x + y) % 8 > 3)) continue;
        const ramp = dxt.theme.ramp(tall ? kindAt(found.parts, place) : largest(found.parts));
        const at = (y * canvas.width + x) * 4;
        image.data[at] = ramp[found.color];
        image.data[at + 1] = ramp[found.color + 1];
        image.data[at + 2] = ramp[found.color + 2];
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    dxt.hatch(canvas, heat.unseen, view);
    return canvas;
  };
})();
