// Colours. Kinds of calls are Okabe and Ito's, which colour-blind eyes tell apart; a quantity is how strong the colour is. Sizes are
// viridis (van der Walt and Smith).
(() => {
  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const mix = (a, b, part) => a.map((value, at) => value + (b[at] - value) * part);
  const kinds = { read: "#0072b2", write: "#d55e00", metadata: "#009e73" };
  // From a tint of the background over the kind's own colour to a deep one, or a bright one in the dark; 256 steps.
  const shades = (kind, back, dark) => {
    const own = parse(kinds[kind]);
    const stops = [mix(back, own, dark ? 0.3 : 0.2), own, mix(own, dark ? [255, 255, 255] : [0, 0, 0], dark ? 0.5 : 0.45)];
    const ramp = new Uint8Array(256 * 3);
    for (let i = 0; i < 256; i++) {
      const place = i / 255;
      ramp.set(place < 0.65 ? mix(stops[0], stops[1], place / 0.65) : mix(stops[1], stops[2], (place - 0.65) / 0.35), i * 3);
    }
    return ramp;
  };
  const made = new Map();
  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  dxt.theme = {
    kinds,
    // Colours of a kind, from little to much, as the background now wants them.
    ramp: (kind) => {
      const key = `${kind} ${dxt.theme.dark}`;
      if (!made.has(key)) made.set(key, shades(kind, parse(dxt.theme.color("back")), dxt.theme.dark));
      return made.get(key);
    },
    // Diagonal lines: no data.
    hatch: () => {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const context = tile.getContext("2d");
      context.strokeStyle = dxt.theme.color("soft");
      context.globalAlpha = 0.55;
      context.lineWidth = 1.2;
      for (const at of [-8, 0, 8]) {
        context.moveTo(at - 1, 9);
        context.lineTo(at + 9, -1);
      }
      context.stroke();
      return tile;
    },
    sizes: ["#cccccc", "#fde725", "#b4de2c", "#6dcd59", "#35b779", "#1f9e89", "#26828e", "#31688e", "#3e4a89", "#440154"],
    get dark() {
      return root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches;
    },
    color: (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim(),
    onChange: (listener) => listeners.push(listener),
  };
  const button = document.getElementById("theme");
  const changed = () => {
    button.textContent = dxt.theme.dark ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${dxt.theme.dark ? "light" : "dark"} colours`);
    listeners.forEach((listener) => listener());
  };
  button.hidden = false;
  // Chooses light, dark, or (nothing) what the system says.
  dxt.theme.set = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    changed();
  };
  button.addEventListener("click", () => dxt.theme.set(dxt.theme.dark ? "light" : "dark"));
  prefers.addEventListener("change", changed);
  button.textContent = dxt.theme.dark ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${dxt.theme.dark ? "light" : "dark"} colours`);
})();
