// What the colours of a chart mean: a ramp for each kind with the scale that they share, and what is hatched or striped.
(() => {
  const mark = (paint) => {
    const swatch = document.createElement("i");
    paint(swatch.style);
    return swatch;
  };
  const key = (swatch, words) => {
    const element = document.createElement("span");
    element.className = "key";
    element.append(swatch, document.createTextNode(words));
    return element;
  };
  const unseenKey = () => key(mark((style) => {
    style.background = `url(${dxt.theme.hatch().toDataURL()})`;
    style.border = `1px solid ${dxt.theme.color("line")}`;
  }), "no data: no single calls were recorded there");
  const kindKey = (kind) => key(mark((style) => (style.background = dxt.theme.kinds[kind])), kind);
  const looseKey = () => key(mark((style) => (style.background = "repeating-linear-gradient(135deg, #d55e00 0 3px, transparent 3px 6px)")), "bytes of Darshan's heat map; their time is not known");
  const ramps = (kinds) => {
    const bar = document.createElement("canvas");
    bar.width = 256;
    bar.height = kinds.length;
    bar.className = "ramps";
    bar.style.height = `${kinds.length * 6}px`;
    const context = bar.getContext("2d");
    kinds.forEach((kind, line) => {
      const ramp = dxt.theme.ramp(kind);
      for (let i = 0; i < 256; i++) {
        context.fillStyle = `rgb(${ramp.slice(i * 3, i * 3 + 3).join(",")})`;
        context.fillRect(i, line, 1, 1);
      }
    });
    return bar;
  };
  dxt.legend = {
    // Of a heatmap: kinds, their strengths, what is not known.
    heat: (element, heat, show, name) => {
      const scale = document.createElement("span");
      scale.className = "scale";
      const words = (text) => document.createTextNode(text);
      if (heat.most > 0) scale.append(words(`${name}: ${show(0)}`), ramps(heat.shown), words(`${show(heat.at(1))} (middle ${show(heat.at(0.5))})`));
      else scale.append(words(`${name}: nothing in this view`));
      element.replaceChildren(...heat.shown.map(kindKey), scale, ...(heat.unseen.length ? [unseenKey()] : []), ...(heat.loose ? [looseKey()] : []));
    },
    // Of single calls.
    calls: (element, unseen) => element.replaceChildren(...dxt.kinds.map(kindKey),
      document.createTextNode("Pale bars: MPI-IO and HDF5 calls. Solid bars: the POSIX calls inside them."), ...(unseen.length ? [unseenKey()] : [])),
  };
})();
