// Colours. Categories are Okabe and Ito's, heat is viridis (van der Walt and Smith): both are told apart by colour-blind eyes.
(() => {
  const viridis = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6dcd59", "#b4de2c", "#fde725"];
  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const ramp = new Uint8Array(256 * 3);
  const stops = viridis.map(parse);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    for (let c = 0; c < 3; c++) ramp[i * 3 + c] = stops[low][c] + (stops[low + 1][c] - stops[low][c]) * (place - low);
  }
  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  dxt.theme = {
    ramp,
    kinds: { read: "#0072b2", write: "#d55e00", metadata: "#009e73" },
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
  button.addEventListener("click", () => {
    root.dataset.theme = dxt.theme.dark ? "light" : "dark";
    changed();
  });
  prefers.addEventListener("change", changed);
  button.textContent = dxt.theme.dark ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${dxt.theme.dark ? "light" : "dark"} colours`);
})();
