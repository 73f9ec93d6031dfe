// Numbers for people, as the program's tables show them: binary prefixes for sizes and rates, seconds for times; names of files.
(() => {
  const digits = (value) => (value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0));
  const scaled = (value, step, names) => {
    let unit = 0;
    while (value >= step * 0.9995 && unit + 1 < names.length) {
      value /= step;
      unit += 1;
    }
    return `${digits(value)} ${names[unit]}`;
  };
  // Parts of a whole in the unit of the whole, so rounded that what is shown adds up to what is shown of the whole: the largest
  // remainders are rounded up. Returns the words for the parts, then those for the whole.
  const adding = (parts, show) => {
    const whole = parts.reduce((sum, part) => sum + part, 0);
    const [, digitsOfWhole, unit] = /^([\d.,]+)(.*)$/.exec(show(whole)) ?? [null, "0", ""];
    const places = (digitsOfWhole.split(".")[1] ?? "").length;
    const steps = Math.round(Number(digitsOfWhole.replaceAll(",", "")) * 10 ** places);
    const exact = parts.map((part) => (whole > 0 ? (part / whole) * steps : 0));
    const rounded = exact.map(Math.floor);
    let left = steps - rounded.reduce((sum, part) => sum + part, 0);
    const order = exact.map((_, at) => at).sort((a, b) => exact[b] - rounded[b] - (exact[a] - rounded[a]));
    for (const at of order) if (left > 0 && exact[at] > 0) [rounded[at], left] = [rounded[at] + 1, left - 1];
    const words = (value) => `${(value / 10 ** places).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })}${unit}`;
    return [...rounded.map(words), show(whole)];
  };
  // A distance between marks of an axis up to `most` bytes (per second): a round number of some binary unit, about four of them.
  const niceStep = (most) => {
    let unit = 1;
    while (most / unit >= 1024) unit *= 1024;
    const wanted = most / unit / 4;
    const step = [0.25, 0.5, 1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256].find((round) => round >= wanted);
    return unit === 1 ? Math.max(1, Math.ceil(wanted)) : (step ?? 256) * unit;
  };
  // The last part of a path.
  const last = (path) => path.replace(/\/+$/, "").split("/").pop() || path;
  // The shortest ends of paths that tell them apart.
  const shortNames = (paths) => paths.map((path) => {
    const parts = path.split("/");
    let take = 1;
    const end = (other) => other.split("/").slice(-take).join("/");
    while (take < parts.length && paths.some((other) => other !== path && end(other) === end(path))) take += 1;
    return end(path) || path;
  });
  const count = (value) => Math.round(value).toLocaleString("en-US");
  // Layers have the names of the format; people read MPI-IO.
  const layer = (name) => name.replace(/\bMPIIO\b/, "MPI-IO");
  dxt.units = {
    layer,
    count,
    adding,
    niceStep,
    last,
    shortNames,
    bytes: (value) => (value < 1024 ? `${Math.round(value)} B` : scaled(value / 1024, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])),
    rate: (value) => scaled(value, 1024, ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"]),
    perSecond: (value) => (value < 1000 ? `${digits(value)} /s` : `${count(value)} /s`),
    percent: (value) => `${value < 0.0995 ? (value * 100).toFixed(1) : (value * 100).toFixed(0)} %`,
    duration: (ns) => (ns < 999.5 ? `${Math.round(ns)} ns` : ns < 999.5e9 ? scaled(ns / 1000, 1000, ["µs", "ms", "s"]) : `${count(ns / 1e9)} s`),
    // A moment, to the digits that a step of `step` ns needs.
    moment: (ns, step) => `${(ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(-Math.log10(Math.max(step, 1) / 1e9)))))} s`,
  };
})();
