// Numbers for people, as the program's tables show them: binary prefixes for sizes, decimal ones for rates, seconds for times.
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
  const count = (value) => Math.round(value).toLocaleString("en-US");
  // Layers have the names of the format; people read MPI-IO.
  const layer = (name) => name.replace(/\bMPIIO\b/, "MPI-IO");
  dxt.units = {
    layer,
    count,
    bytes: (value) => (value < 1024 ? `${Math.round(value)} B` : scaled(value / 1024, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])),
    rate: (value) => scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"]),
    perSecond: (value) => (value < 1000 ? `${digits(value)} /s` : `${count(value)} /s`),
    percent: (value) => `${value < 0.0995 ? (value * 100).toFixed(1) : (value * 100).toFixed(0)} %`,
    duration: (ns) => (ns < 1000 ? `${Math.round(ns)} ns` : ns < 999.5e9 ? scaled(ns / 1000, 1000, ["µs", "ms", "s"]) : `${count(ns / 1e9)} s`),
    // A moment, to the digits that a step of `step` ns needs.
    moment: (ns, step) => `${(ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(-Math.log10(Math.max(step, 1) / 1e9)))))} s`,
  };
})();
