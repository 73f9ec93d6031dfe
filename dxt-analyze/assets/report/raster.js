// A heatmap between the axes of a chart: painted pixel by pixel for what is visible, so that any number of cells costs the same.
(() => {
  // Values by row and bin, and the scale of their colours: linear, or logarithmic where they span more than three decades.
  dxt.heat = (sum, value, top) => {
    const values = new Float64Array(sum.rows * sum.bins);
    let most = 0;
    let least = Infinity;
    for (let at = 0; at < values.length; at++) {
      const found = value(at);
      values[at] = found;
      if (found > most) most = found;
      if (found > 0 && found < least) least = found;
    }
    if (top) most = top;
    const log = !top && most / least > 1000;
    least = Math.max(least, most / 1e6);
    const place = log
      ? (found) => Math.max(0, Math.log(found / least) / Math.log(most / least))
      : (found) => Math.min(1, found / most);
    const at = log ? (share) => least * (most / least) ** share : (share) => most * share;
    return { ...sum, values, most, log, place, at };
  };

  // Paints `heat` for x (ns) and y (rows) in view; the largest cell of a pixel counts.
  dxt.paint = (heat, view, width, height) => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width));
    canvas.height = Math.max(1, Math.round(height));
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const { ramp } = dxt.theme;
    const bins = new Int32Array(canvas.width + 1);
    for (let x = 0; x <= canvas.width; x++) {
      const time = view.from + ((view.until - view.from) * x) / canvas.width;
      bins[x] = Math.floor((time - heat.from) / heat.width);
    }
    let last = -1;
    let line = null;
    for (let y = 0; y < canvas.height; y++) {
      const first = Math.floor(view.top + ((view.bottom - view.top) * y) / canvas.height);
      const end = Math.max(first + 1, Math.floor(view.top + ((view.bottom - view.top) * (y + 1)) / canvas.height));
      if (first * 65536 + end !== last) {
        last = first * 65536 + end;
        line = new Uint8ClampedArray(canvas.width * 4);
        for (let x = 0; x < canvas.width; x++) {
          let most = 0;
          for (let row = Math.max(0, first); row < Math.min(end, heat.rows); row++) {
            for (let bin = Math.max(0, bins[x]); bin < Math.min(Math.max(bins[x + 1], bins[x] + 1), heat.bins); bin++) {
              const found = heat.values[row * heat.bins + bin];
              if (found > most) most = found;
            }
          }
          if (most > 0) {
            const color = Math.round(heat.place(most) * 255) * 3;
            line.set([ramp[color], ramp[color + 1], ramp[color + 2], 255], x * 4);
          }
        }
      }
      image.data.set(line, y * canvas.width * 4);
    }
    context.putImageData(image, 0, 0);
    return canvas;
  };

  dxt.scaleLegend = (element, heat, show, name) => {
    const scale = document.createElement("span");
    scale.className = "scale";
    const bar = document.createElement("canvas");
    bar.width = 256;
    bar.height = 1;
    const context = bar.getContext("2d");
    for (let i = 0; i < 256; i++) {
      context.fillStyle = `rgb(${dxt.theme.ramp.slice(i * 3, i * 3 + 3).join(",")})`;
      context.fillRect(i, 0, 1, 1);
    }
    const label = (text) => document.createTextNode(text);
    scale.append(label(heat.most > 0 ? `${name}: ${heat.log ? show(heat.at(0)) : show(0)}`: `${name}: nothing here`));
    if (heat.most > 0) scale.append(bar, label(`${show(heat.at(1))}${heat.log ? ` (logarithmic; middle ${show(heat.at(0.5))})` : ""}`));
    element.replaceChildren(scale);
    return element;
  };
})();
